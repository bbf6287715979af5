"""Routing and leaf probabilities."""

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from reference import neural as naive

from lacforest.neural import NeuralForest
from lacforest.neural._forest import route

sizes = st.tuples(st.integers(2, 8), st.integers(1, 5), st.integers(1, 6), st.integers(1, 5))


def random_forest(seed, n_trees, depth, n_features=4, dtype=torch.float64):
    generator = torch.Generator().manual_seed(seed)
    forest = NeuralForest(n_features, n_trees, depth).to(dtype)
    for parameter in forest.parameters():
        parameter.data = 2 * torch.randn(parameter.shape, generator=generator, dtype=dtype)
    return forest, generator


def naive_probabilities(forest, features):
    shape = (forest.n_trees, forest.n_nodes)
    weights = forest.linear.weight.view(*shape, -1).tolist()
    biases = forest.linear.bias.view(shape).tolist()
    return np.array(naive.leaf_probabilities(features.tolist(), weights, biases, forest.depth))


@given(sizes, st.integers(0, 2**32 - 1))
def test_leaf_probabilities_are_those_of_the_paper(size, seed):
    depth, n_trees, n_rows, n_features = size
    forest, generator = random_forest(seed, n_trees, depth, n_features)
    features = torch.randn(n_rows, n_features, generator=generator, dtype=torch.float64)
    mu = forest(features)
    assert mu.shape == (n_rows, n_trees, 2 ** (depth - 1))
    assert_allclose(mu.detach(), naive_probabilities(forest, features), rtol=1e-9, atol=1e-14)
    assert_allclose(mu.sum(dim=-1).detach(), 1.0, rtol=1e-12)


@given(st.integers(2, 8), st.integers(0, 2**32 - 1))
def test_log_probabilities(depth, seed):
    forest, generator = random_forest(seed, 2, depth)
    features = torch.randn(3, 4, generator=generator, dtype=torch.float64)
    logs = forest.log_leaf_probabilities(features)
    assert_allclose(logs.exp().detach(), forest(features).detach(), rtol=1e-12)


def test_number_of_leaves():
    forest = NeuralForest(3, n_trees=2, depth=6)
    assert (forest.n_nodes, forest.n_leaves) == (31, 32)
    assert "n_leaves=32" in repr(forest)


def test_gradients_by_gradcheck():
    forest, generator = random_forest(0, 2, 4)
    features = torch.randn(3, 4, generator=generator, dtype=torch.float64, requires_grad=True)
    weights = list(forest.parameters())

    def leaves(features, *weights):
        named = dict(zip(("linear.weight", "linear.bias"), weights, strict=True))
        return torch.func.functional_call(forest, named, (features,))

    assert torch.autograd.gradcheck(leaves, (features, *weights))


def test_spread_logits_have_mean_zero_and_deviation_one():
    forest, generator = random_forest(0, 2, 4)
    features = 0.01 * torch.randn(60, 4, generator=generator, dtype=torch.float64) + 3.0
    forest.spread(features)
    logits = forest.linear(features).detach()
    assert_allclose(logits.mean(dim=0), 0.0, atol=1e-9)
    assert_allclose(logits.std(dim=0, correction=0), 1.0, rtol=1e-9)
    forest.spread(torch.ones(5, 4, dtype=torch.float64))  # nothing varies
    assert torch.isfinite(forest.linear.weight).all()


@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_half_precision_is_summed_in_float32(dtype):
    forest, generator = random_forest(0, 3, 8, dtype=torch.float32)
    features = torch.randn(50, 4, generator=generator)
    half = NeuralForest(4, 3, 8).to(dtype)
    half.load_state_dict(forest.state_dict())
    mu = half(features.to(dtype))
    assert mu.dtype == torch.float32
    assert_allclose(mu.sum(dim=-1).detach(), 1.0, rtol=1e-5)
    assert_allclose(mu.detach(), forest(features).detach(), atol=0.1)
    mu.square().sum().backward()
    assert torch.isfinite(half.linear.weight.grad).all()


@pytest.mark.parametrize("size", [1e2, 1e4, 1e30, float("inf")])
def test_extreme_logits_stay_finite(size):
    logits = torch.tensor([[[-size], [size], [-size]]], requires_grad=True)
    mu = route(logits, 3).exp()
    assert_allclose(mu.detach()[0, :, 0], [0, 0, 0, 1], atol=1e-30)
    (mu**2).sum().backward()
    assert torch.isfinite(logits.grad).all()


def test_small_sides_of_splits_are_not_lost():
    # 1 - sigmoid(20) is zero in float32; its logarithm is not.
    logits = torch.full((1, 3, 1), 20.0)
    assert_allclose(route(logits, 3)[0, 3, 0], -40.0, rtol=1e-6)


def test_compiled_forest_is_the_same():
    forest, generator = random_forest(0, 3, 6, dtype=torch.float32)
    features = torch.randn(7, 4, generator=generator)
    compiled = torch.compile(forest, fullgraph=True, backend="aot_eager")
    assert_allclose(compiled(features).detach(), forest(features).detach(), rtol=1e-6)


@pytest.mark.parametrize(
    ("parameters", "match"),
    [
        ({"depth": 1}, "depth must be at least 2"),
        ({"n_trees": 0}, "n_trees must be at least 1"),
        ({"n_features": 0}, "n_features must be at least 1"),
    ],
)
def test_bad_sizes(parameters, match):
    with pytest.raises(ValueError, match=match):
        NeuralForest(**{"n_features": 3, **parameters})
