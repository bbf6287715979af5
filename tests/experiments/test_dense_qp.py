"""The dense route to theta, which the compiled solver is timed against."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy.optimize import nnls

from lacforest.experiments import _dense_qp
from lacforest.mixture import KernelMeanEmbedding


def test_dense_qp_against_non_negative_least_squares(global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    points = rng.normal(size=(40, 6))
    target = rng.normal(size=6)
    found = _dense_qp.project_on_simplex(points @ points.T, points @ target)
    rows = np.vstack([points.T, np.full(40, 1e4)])  # the last row says that weights sum to 1
    expected, _ = nnls(rows, np.append(target, 1e4))
    assert (found > 0).all()
    assert_allclose(found.sum(), 1)
    assert_allclose(points.T @ found, points.T @ expected, atol=1e-4)


def test_dense_route_finds_theta():
    rng = np.random.default_rng(0)
    X, known, new = (rng.normal(centre, size=(100, 2)) for centre in (0, 0, 8))
    # At this size KM2 has an error of a tenth even on easy data; only the method matters here.
    scores = _dense_qp.svc_scores(X, np.concatenate([known, new]))
    assert [len(side) for side in scores] == [100, 200]
    dense = _dense_qp.dense_theta(*scores)
    assert abs(dense - 0.5) < 0.15
    ours = KernelMeanEmbedding("km2", n_bootstrap=0).fit_scores(*scores)
    assert ours.theta_ == pytest.approx(dense, abs=0.005)
