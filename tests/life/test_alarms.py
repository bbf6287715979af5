"""Alarms of a batch: what has moved for sure and far enough, by shares that are given here."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from lacforest.adaptation.batch import class_factors, describe_batch
from lacforest.adaptation.shares import NEW_ODDS, BatchShares

CLASSES = np.array(["a", "b", "c", "d"])
BEFORE = np.array([0.2, 0.2, 0.2, 0.2, 0.2])


def batch_of(shares, spread, is_far=None, p_value=0.0, n_rows=100):
    """A batch whose resampled shares lie this far to both sides of its own."""
    shares = np.asarray(shares, dtype=float)
    spread = np.broadcast_to(spread, shares.shape)
    resampled = np.array([shares - spread, shares, shares + spread])
    found = BatchShares(shares, resampled, p_value, n_rows)
    far = None if is_far is None else np.asarray(is_far, dtype=bool)
    return describe_batch(found, BEFORE, CLASSES, 1.0, far)


def topics(batch):
    return [alarm.topic for alarm in batch.alarms]


def _with_theta(theta):
    return [*np.full(4, (1 - theta) / 4), theta]


@pytest.mark.parametrize(
    ("theta", "spread", "is_alarm"),
    [
        (0.3, 0.02, True),
        (0.3, 0.09, False),  # far, but 0.2 lies in the interval with its allowance
        (0.24, 0.01, False),  # sure, but not far
        (0.26, 0.01, True),
        (0.12, 0.02, True),
    ],
)
def test_theta(theta, spread, is_alarm):
    batch = batch_of(_with_theta(theta), [0, 0, 0, 0, spread])
    assert topics(batch) == ["theta"] * is_alarm
    low, high = batch.theta_interval
    assert_allclose([low, high], [theta - spread - 0.02, theta + spread + 0.02])


def test_shares_that_have_moved_for_sure_add_up():
    moved = 0.8 * np.array([0.35, 0.15, 0.25, 0.25])
    assert topics(batch_of([*moved, 0.2], [0.001, 0.001, 0, 0, 0])) == ["shares"]
    # The second class, and the first one, may have the share of the fit: 0.1 is left.
    unsure = batch_of([*moved, 0.2], [0.2, 0.2, 0.0, 0.0, 0.0])
    assert topics(unsure) == []
    assert "about the shares of the fit" in str(unsure)


@pytest.mark.parametrize(
    ("n_far", "n_flagged", "is_alarm"),
    [(2, 3, False), (9, 9, False), (2, 10, False), (3, 10, True), (0, 0, False)],
)
def test_rows_far_from_every_group(n_far, n_flagged, is_alarm):
    batch = batch_of(BEFORE, 0.0, np.arange(n_flagged) < n_far)
    assert topics(batch) == ["groups"] * is_alarm
    assert batch.far_share == (n_far / n_flagged if n_flagged else 0.0)


@pytest.mark.parametrize(("p_value", "is_alarm"), [(0.049, True), (0.05, False), (0.6, False)])
def test_no_alarm_where_the_shares_of_the_fit_explain_the_batch(p_value, is_alarm):
    moved = [0.5 * 0.4, 0.1 * 0.4, 0.2 * 0.4, 0.2 * 0.4, 0.6]
    batch = batch_of(moved, 0.001, p_value=p_value)
    assert topics(batch) == ["theta", "shares"] * is_alarm
    assert batch.is_adapted == is_alarm
    assert (f"(p = {p_value:.3f})") in str(batch)


@pytest.mark.parametrize(("n_rows", "is_small"), [(1, True), (9, True), (10, False)])
def test_no_alarm_by_a_few_rows(n_rows, is_small):
    moved = [0.5 * 0.4, 0.1 * 0.4, 0.2 * 0.4, 0.2 * 0.4, 0.6]
    batch = batch_of(moved, 0.001, [True] * n_rows, n_rows=n_rows)
    assert topics(batch) == ([] if is_small else ["theta", "shares", "groups"])
    assert batch.is_adapted != is_small
    assert (batch.theta_interval == (0.0, 1.0)) == is_small
    assert (batch.known_shares_interval == [0.0, 1.0]).all() == is_small
    word = "1 row" if n_rows == 1 else f"{n_rows} rows"
    assert (f"a batch of {word} is too small to tell" in str(batch)) == is_small
    assert (_factors(0.0, n_rows) == 1.0).all() == is_small


def _factors(p_value, n_rows=100):
    shares, before = np.array([0.4, 0.05, 0.0, 0.55]), np.array([0.1, 0.2, 0.15, 0.55])
    return class_factors(BatchShares(shares, shares[None], p_value, n_rows), before)


def test_votes_change_by_the_root_of_shares():
    assert_allclose(_factors(0.01), [2.0, 0.5, np.sqrt(1e-4 / 0.15), NEW_ODDS**0.25])
    assert_allclose(_factors(0.2), 1.0, rtol=0)
