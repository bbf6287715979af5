"""Products of matrices by the calling thread."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from lacforest._utils import products
from lacforest._utils.products import product


@given(
    shape=st.tuples(*[st.integers(1, 40)] * 3),
    is_vector=st.booleans(),
    is_sparse=st.booleans(),
    is_transposed=st.booleans(),
    seed=st.integers(0, 99),
)
def test_it_is_the_sum_over_the_inner_places(shape, is_vector, is_sparse, is_transposed, seed):
    n, m, k = shape
    rng = np.random.default_rng(seed)
    left = rng.normal(size=(m, n)).T if is_transposed else rng.normal(size=(n, m))
    right = rng.normal(size=m) if is_vector else rng.normal(size=(m, k))
    columns = right[:, None] if is_vector else right
    naive = np.array(
        [[sum(left[i, j] * column[j] for j in range(m)) for column in columns.T] for i in range(n)]
    )
    found = product(sparse.csr_array(left) if is_sparse else left, right)
    assert_allclose(found, naive[:, 0] if is_vector else naive, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("shape", [(7,), (7, 3)])
def test_large_products_go_to_blas(shape, monkeypatch):
    rng = np.random.default_rng(0)
    left, right = rng.normal(size=(50, 7)), rng.normal(size=shape)
    small = product(left, right)
    monkeypatch.setattr(products, "_MANY", 0)
    assert_array_equal(product(left, right), left @ right)
    monkeypatch.setattr(products.np, "einsum", None)
    assert_allclose(product(left, right), small, rtol=1e-12)
