"""When the shift of columns is a finding, and what it says."""

import numpy as np
import pytest

from lacforest._coding.coded_table import code_columns
from lacforest._input.tables import RowStack
from lacforest.mixture import BestBin, KernelMeanEmbedding, RankMixture, ShareMixture
from lacforest.mixture.checks import _fit, estimate_findings, rank_estimate, shared_rows
from lacforest.mixture.column_shift import control_finding, drift_finding, shift_order

NAMES = ["time", "size", "site"]
SIZES = (500.0, 1000, 400)


def finding(unlabeled, known=(0.5, 0.5, 0.5), theta=0.5, interval="estimate", sizes=SIZES):
    shift = np.column_stack([unlabeled, known])
    interval = (theta, theta) if interval == "estimate" else interval
    return drift_finding(shift, theta, interval, sizes, NAMES)


def test_a_new_class_is_no_drift():
    found = finding((0.74, 0.5, 0.4), (0.53, 0.5, 0.47))
    assert (found.topic, found.level, found.columns) == ("drift", "ok", ())
    assert "time (larger in 74% of pairs) differs most" in found.text


def test_nearly_all_new_with_columns_to_blame():
    found = finding((0.5, 0.81, 0.31), np.full(3, np.nan), theta=0.97)
    assert found.level == "problem"
    assert found.columns == ("size", "site")
    assert "size (larger in 81% of pairs), site (smaller in 69% of pairs)" in found.text
    assert "drop these columns, or pass control=(X_known, y_known)" in found.text


def test_an_interval_up_to_nearly_all():
    assert finding((0.7, 0.5, 0.5), theta=0.8, interval=(0.7, 0.97)).columns == ("time",)
    assert finding((0.7, 0.5, 0.5), theta=0.8, interval=(0.7, 0.94)).level == "ok"
    # A small estimate with a wide interval only lacks rows.
    assert finding((0.7, 0.5, 0.5), theta=0.45, interval=(0.0, 1.0)).level == "ok"


def test_beside_a_column_that_separates_the_tables_no_other_is_blamed():
    assert finding((0.02, 0.81, 0.31), theta=0.97).columns == ("time",)


def test_nearly_all_new_without_a_column_to_blame():
    found = finding((0.5, 0.53, 0.47), theta=0.97)
    assert (found.level, found.columns) == ("problem", ())
    assert "no single column differs much" in found.text


def test_known_rows_that_do_not_look_as_labelled():
    found = finding((0.65, 0.5, 0.5), (0.5, 0.7, 0.5))
    assert (found.level, found.columns) == ("problem", ("time",))
    assert (
        "rows taken for known do not look as labelled: size (larger in 70% of pairs)" in found.text
    )
    assert "differ most in time (larger in 65% of pairs)" in found.text
    alone = finding((0.5, 0.5, 0.5), (0.5, 0.7, 0.5))
    assert (alone.level, alone.columns) == ("problem", ())
    assert "No single column is to blame" in alone.text


def test_few_rows_prove_nothing():
    assert finding((0.5, 0.5, 0.5), (0.5, 0.7, 0.5), sizes=(30.0, 30, 10)).level == "ok"
    assert finding((0.65, 0.5, 0.5), theta=0.97, sizes=(10.0, 10, 5)).columns == ()


def test_a_theta_that_was_given():
    assert finding((0.74, 0.5, 0.5), interval=None).level == "ok"
    found = finding((0.85, 0.5, 0.5), interval=None)
    assert (found.level, found.columns) == ("caution", ("time",))
    assert "more than theta = 0.500 of new rows can explain" in found.text
    assert finding((0.9, 0.5, 0.5), theta=0.95, interval=None).level == "ok"


def test_columns_that_do_not_differ_at_all():
    assert finding((0.5, 0.5, 0.5)).text == "no column differs between the tables."


def test_many_columns_are_counted():
    shift = np.column_stack([np.full(9, 0.9), np.full(9, np.nan)])
    found = drift_finding(shift, 0.99, (0.9, 1.0), SIZES, [f"c{i}" for i in range(9)])
    assert len(found.columns) == 9
    assert "c5 (larger in 90% of pairs) and 3 more" in found.text


def test_order():
    shift = np.column_stack([(0.5, 0.1, 0.7), (0.5, 0.5, 0.5)])
    assert shift_order(shift).tolist() == [1, 2, 0]


def test_control():
    found = control_finding(np.array([1.0, 0.5, 0.55]), 500, 100, NAMES)
    assert (found.topic, found.level, found.columns) == ("control", "caution", ("time",))
    assert (
        "known classes look different in deployment: time (larger in 100% of pairs)" in found.text
    )
    assert control_finding(np.array([0.55, 0.5, 0.45]), 500, 100, NAMES).level == "ok"


@pytest.fixture(scope="module")
def blobs():
    rng = np.random.default_rng(0)
    X = np.repeat([[0.0, 0.0], [6.0, 0.0]], 100, axis=0) + rng.normal(size=(200, 2))
    new = np.array([3.0, 9.0]) + rng.normal(size=(150, 2))
    known = np.repeat([[0.0, 0.0], [6.0, 0.0]], 75, axis=0) + rng.normal(size=(150, 2))
    return X, np.repeat([0, 1], 100), np.vstack([known, new])


@pytest.mark.parametrize(
    "estimator",
    [
        RankMixture(random_state=0),
        BestBin(random_state=0, n_bootstrap=0),
        KernelMeanEmbedding("km1", random_state=0, n_bootstrap=0),
    ],
)
def test_every_estimator_with_scores_is_checked(blobs, estimator):
    X, _, U = blobs
    estimator.fit(X, U)
    by_rank = rank_estimate(estimator)
    assert abs(by_rank.theta_ - 0.5) < 0.1
    topics = [found.topic for found in estimate_findings(by_rank, (0.4, 0.6))]
    assert topics == ["something new", "something known", "identifiable", "agreement", "fit"]


def test_shares_and_foreign_estimators(blobs):
    mixture = ShareMixture(random_state=0, n_bootstrap=0).fit(blobs[0], blobs[1], blobs[2])
    assert rank_estimate(mixture).theta_ == mixture.theta_
    assert rank_estimate(object()) is None
    assert rank_estimate(None) is None


def test_rows_in_both_tables():
    table = np.array([[1.0, 2.0], [1.0, 2.0], [3.0, np.nan], [4.0, 5.0]])
    deployed = np.array([[3.0, np.nan], [1.0, 2.0], [1.0, 5.0], [4.0, 2.0]])
    columns = code_columns(RowStack([table, deployed]), 1)
    assert shared_rows(columns, 4) == 0.5  # one of two equal rows has a copy


def test_a_misfit_of_rows_in_both_tables_is_no_problem():
    rng = np.random.default_rng(6)
    labeled = np.concatenate([rng.random(500), np.full(500, 0.25) + 1e-3 * rng.random(500)])
    fitted = RankMixture(random_state=0, n_bootstrap=0).fit_scores(labeled, rng.random(2000))
    assert _fit(fitted, 0.0).level == "problem"
    found = _fit(fitted, 0.6)
    assert found.level == "caution"
    assert found.text.startswith("60% of the labelled rows are among the unlabelled ones too.")


@pytest.mark.parametrize(
    ("p_value", "told"),
    [(0.5, "(p = 0.5)."), (0.0054, "(p = 0.0054; below 0.001 they would not).")],
)
def test_a_small_p_that_is_no_alarm_is_explained(monkeypatch, p_value, told):
    monkeypatch.setattr("lacforest.mixture.checks.misfit", lambda estimator: p_value)
    found = _fit(None, 0.0)
    assert found.level == "ok"
    assert found.text.endswith(f"both tables agree {told}")


def test_categories_are_not_larger():
    shift = np.column_stack([[0.81, 0.5, 0.7], np.full(3, np.nan)])
    found = drift_finding(shift, 0.97, (0.97, 0.97), SIZES, NAMES, [False, False, True])
    assert "time (larger in 81% of pairs), site (other categories in 40% of rows)" in found.text
    found = control_finding(np.array([0.5, 0.5, 1.0]), 500, 100, NAMES, [False, False, True])
    assert "look different in deployment: site (other categories in 100% of rows)." in found.text
