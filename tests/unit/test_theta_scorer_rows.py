"""How many rows the scorer of the kernel mean embedding gets."""

import functools
from typing import ClassVar

import numpy as np
import pytest
from sklearn.svm import SVC

from lacforest.mixture import KernelMeanEmbedding


class CountingSVC(SVC):
    """Keeps the number of rows of every fit."""

    seen: ClassVar[list[int]] = []

    def fit(self, X, y, sample_weight=None):
        self.seen.append(len(y))
        return super().fit(X, y, sample_weight)


def test_a_scorer_of_the_kernel_mean_gets_few_rows():
    rng = np.random.default_rng(0)
    known, unlabeled = rng.normal(size=(300, 2)), rng.normal(1, 1, size=(500, 2))
    make = functools.partial(KernelMeanEmbedding, n_bootstrap=0, random_state=0)
    CountingSVC.seen.clear()
    some = make(scorer=CountingSVC(), max_rows=100).fit(known, unlabeled)
    assert CountingSVC.seen == [160] * 5
    assert len(some.scores_.labeled) == len(some.scores_.unlabeled) == 100
    weighted = make(scorer=CountingSVC(), max_rows=100).fit(known, unlabeled, np.ones(300))
    assert weighted.theta_ == some.theta_
    assert some.theta_ == make(scorer=CountingSVC(), max_rows=100).fit(known, unlabeled).theta_
    assert some.theta_ != make(max_rows=100).set_params(random_state=1).fit(known, unlabeled).theta_
    CountingSVC.seen.clear()
    every = make(scorer=CountingSVC(), max_rows=None).fit(known, unlabeled)
    assert CountingSVC.seen == [640] * 5
    assert every.theta_ == make(scorer=CountingSVC(), max_rows=500).fit(known, unlabeled).theta_
    forest = make(scorer="forest", max_rows=100).fit(known, unlabeled)
    assert len(forest.scores_.labeled) == 300


def test_drawn_rows_keep_their_weights():
    rng = np.random.default_rng(0)
    known, unlabeled = rng.normal(size=(100, 1)), rng.normal(size=(100, 1))
    known[:50] += 50.0
    near, far = np.arange(100) >= 50, np.arange(100) < 50
    make = functools.partial(KernelMeanEmbedding, n_bootstrap=0, max_rows=50, random_state=0)
    few, many = (make().fit(known, unlabeled, np.where(some, 1.0, 0.01)) for some in (near, far))
    assert few.theta_ < many.theta_ - 0.1


def test_the_paper_needs_no_bound():
    # Its largest samples have 1,000 rows of either side.
    assert KernelMeanEmbedding().max_rows >= 1000
    with pytest.raises(ValueError, match="max_rows must be at least 2"):
        KernelMeanEmbedding(max_rows=1).fit(np.zeros((3, 1)), np.zeros((3, 1)))
