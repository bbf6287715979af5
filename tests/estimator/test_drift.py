"""What a fit finds about drift, and a control that corrects it."""

import json
import warnings

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from reference.column_shift import auc
from scipy import sparse
from sklearn import config_context
from sklearn.base import clone

from lacforest import LACExtraTreesClassifier, LACForestClassifier
from lacforest.inspection import column_shift
from lacforest.mixture import BestBin, ThetaWarning

CENTERS = np.array([[0.0, 0.0, 0.0], [6.0, 0.0, 0.0], [3.0, 9.0, 0.0]])
FORESTS = [
    LACForestClassifier(10, random_state=0),
    LACExtraTreesClassifier(10, n_explorers=10, random_state=0),
]
both = pytest.mark.parametrize("forest", FORESTS, ids=lambda forest: type(forest).__name__)


def rows(seed, classes, drift=0.0):
    table = CENTERS[classes] + np.random.default_rng(seed).normal(size=(len(classes), 3))
    table[:, 2] += drift
    return table


y = np.repeat([0, 1], 120)
X = rows(0, y)
DEPLOYED = np.repeat([0, 1, 2], [120, 120, 160])
U = rows(1, DEPLOYED)
DRIFTED = rows(1, DEPLOYED, drift=30.0)
Y_CONTROL = np.repeat([0, 1], 50)
CONTROL = rows(2, Y_CONTROL, drift=30.0)
for _shared in (X, U, DRIFTED, CONTROL):
    _shared.flags.writeable = False


def levels(forest):
    return {found.topic: found.level for found in forest.fit_findings_}


@both
def test_findings_speak_of_the_interval_that_is_shown(forest):
    forest.fit(X, y, X_unlabeled=U)
    text = {found.topic: found.text for found in forest.fit_findings_}
    low, high = forest.theta_interval_
    assert f"at least about {low:.1%} of the unlabelled rows are new" in text["something new"]
    assert f"at least about {1 - high:.1%} of the unlabelled rows" in text["something known"]


@both
def test_sound_data_warn_of_nothing(forest):
    forest.fit(X, y, X_unlabeled=U)
    assert set(levels(forest).values()) == {"ok"}
    assert levels(forest).keys() == {
        "something new",
        "something known",
        "identifiable",
        "agreement",
        "fit",
        "class shares",
        "drift",
    }


@both
def test_classes_that_look_alike_leave_theta_open(forest):
    rng = np.random.default_rng(0)
    noise, label = rng.normal(size=(300, 3)), np.arange(300) % 2
    with pytest.warns(ThetaWarning, match="the data cannot tell whether any"):
        forest.fit(noise, label, X_unlabeled=rng.normal(size=(300, 3)))
    assert levels(forest)["look-alikes"] == "caution"
    assert forest.theta_interval_ == (0.0, 1.0)
    # Nothing is said of theta where it was given.
    given = clone(forest).set_params(theta=0.4).fit(noise, label, X_unlabeled=noise)
    assert "look-alikes" not in levels(given)


@both
def test_drift_is_warned_of_once_and_by_name(forest):
    names = ["width", "height", "time"]
    tables = [pd.DataFrame(table, columns=names) for table in (X, DRIFTED)]
    with pytest.warns(
        ThetaWarning, match=r"these columns differ .*: time \(larger in 100% of pairs\)"
    ) as caught:
        forest.fit(tables[0], y, X_unlabeled=tables[1])
    assert len(caught) == 1
    assert caught[0].filename == __file__
    drift = forest.fit_findings_[-1]
    assert (drift.topic, drift.level) == ("drift", "problem")
    assert drift.columns[0] == "time"
    assert column_shift(forest)[0][:2] == ("time", 1.0)


def test_the_table_is_that_of_the_values():
    forest = LACForestClassifier(10, theta=0.4, random_state=0).fit(X, y, X_unlabeled=U)
    known = U[~forest.pseudo_labels_]
    for j in range(3):
        expected = [auc(X[:, j], np.ones(len(X)), table[:, j]) for table in (U, known)]
        assert_allclose(forest.column_shift_[j], expected)


def test_labelled_rows_are_weighted_to_the_shares():
    forest = LACForestClassifier(10, theta=0.4, known_shares=[0.9, 0.1], random_state=0)
    forest.fit(X, y, X_unlabeled=U)
    expected = [auc(X[:, j], np.where(y == 0, 0.9, 0.1), U[:, j]) for j in range(3)]
    assert_allclose(forest.column_shift_[:, 0], expected)


def test_a_given_theta_is_told_but_not_warned():
    forest = LACForestClassifier(10, theta=0.4, random_state=0).fit(X, y, X_unlabeled=DRIFTED)
    assert levels(forest) == {"class shares": levels(forest)["class shares"], "drift": "caution"}
    assert forest.fit_findings_[-1].columns == ("x2",)


def test_without_unlabelled_rows_nothing_is_checked():
    forest = LACForestClassifier(5, random_state=0).fit(X, y)
    assert forest.fit_findings_ == ()
    assert forest.column_shift_ is None


@both
@pytest.mark.parametrize("unlabeled", [U, DRIFTED], ids=["sound", "drifted"])
def test_files_keep_findings_and_shifts(forest, unlabeled, tmp_path):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ThetaWarning)
        forest.fit(X, y, X_unlabeled=unlabeled)
    forest.save(tmp_path / "forest.lac")
    loaded = type(forest).load(tmp_path / "forest.lac")
    assert loaded.fit_findings_ == forest.fit_findings_
    assert_array_equal(loaded.column_shift_, forest.column_shift_)


# ---------------------------------------------------------------------------- control


@both
def test_a_control_corrects_drift(forest):
    forest.fit(X, y, X_unlabeled=DRIFTED, control=(CONTROL, Y_CONTROL))
    assert abs(forest.theta_ - 0.4) < 0.1
    assert levels(forest)["drift"] == "ok"
    assert levels(forest)["control"] == "caution"
    assert forest.fit_findings_[-2].columns == ("x2",)
    truth = np.where(DEPLOYED < 2, DEPLOYED, -1)
    assert (forest.predict(rows(3, DEPLOYED, drift=30.0)) == truth).mean() > 0.9


def test_a_control_that_finds_no_drift():
    forest = LACForestClassifier(10, random_state=0)
    forest.fit(X, y, X_unlabeled=U, control=(rows(2, Y_CONTROL), Y_CONTROL))
    assert abs(forest.theta_ - 0.4) < 0.1
    assert set(levels(forest).values()) == {"ok"}


def test_shares_come_from_the_control():
    few = np.repeat([0, 1], [90, 10])
    forest = LACForestClassifier(10, random_state=0)
    forest.fit(X, y, X_unlabeled=DRIFTED, control=(rows(2, few, drift=30.0), few))
    assert_allclose(forest.known_shares_, np.array([90 + 10, 10 + 10]) / 120)
    forest.set_params(known_shares=[0.3, 0.7])
    forest.fit(X, y, X_unlabeled=DRIFTED, control=(CONTROL, Y_CONTROL))
    assert_allclose(forest.known_shares_, [0.3, 0.7])


def test_control_rows_weigh_as_much_as_labelled_ones():
    given = {"theta": 0.4, "known_shares": "labeled", "random_state": 0}
    for n_control, factor in ((100, 2.4), (20, 10.0)):
        chosen = np.arange(0, 100, 100 // n_control)
        control = (CONTROL[chosen], Y_CONTROL[chosen])
        found = LACForestClassifier(5, **given).fit(X, y, X_unlabeled=DRIFTED, control=control)
        weight = np.repeat([1.0, factor], [len(X), n_control])
        expected = LACForestClassifier(5, **given).fit(
            np.vstack([X, control[0]]),
            np.append(y, control[1]),
            X_unlabeled=DRIFTED,
            sample_weight=weight,
        )
        assert_array_equal(found.predict_proba(U), expected.predict_proba(U))


@both
def test_threads_and_forms_of_tables(forest):
    control = (CONTROL, Y_CONTROL)
    first = forest.fit(X, y, X_unlabeled=DRIFTED, control=control).predict_proba(DRIFTED)
    theta = forest.theta_
    forest.set_params(n_jobs=2).fit(X, y, X_unlabeled=DRIFTED, control=control)
    assert forest.theta_ == theta
    assert_array_equal(forest.predict_proba(DRIFTED), first)
    forest.set_params(n_jobs=None)
    tables = [sparse.csr_array(table) for table in (X, DRIFTED, CONTROL)]
    forest.fit(tables[0], y, X_unlabeled=tables[1], control=(tables[2], Y_CONTROL.tolist()))
    assert_array_equal(forest.predict_proba(DRIFTED), first)
    marked = type(forest)(**forest.get_params() | {"unlabeled_label": -9})
    marked.fit(np.vstack([DRIFTED, X]), np.append(np.full(len(DRIFTED), -9), y), control=control)
    assert_array_equal(marked.predict_proba(DRIFTED), first)


def test_other_estimators_compare_with_the_control():
    forest = LACForestClassifier(5, theta=BestBin(n_bootstrap=10), random_state=0)
    forest.fit(X, y, X_unlabeled=DRIFTED, control=(CONTROL, Y_CONTROL))
    assert abs(forest.theta_ - 0.4) < 0.15

    class Sizes:
        """An estimator from elsewhere that remembers what it was given."""

        theta_ = 0.4

        def get_params(self, deep=True):
            return {}

        def fit(self, X, X_unlabeled):
            self.given = X, X_unlabeled
            return self

    forest.set_params(theta=Sizes()).fit(X, y, X_unlabeled=DRIFTED, control=(CONTROL, Y_CONTROL))
    assert_array_equal(forest.theta_estimator_.given[0], CONTROL)
    assert_array_equal(forest.theta_estimator_.given[1], DRIFTED)


def test_classes_of_weight_zero_leave_the_control():
    given = {"theta": 0.4, "known_shares": "labeled", "random_state": 0}
    without = LACForestClassifier(5, class_weight={1: 0.0}, **given)
    without.fit(X, y, X_unlabeled=DRIFTED, control=(CONTROL, Y_CONTROL))
    assert (without.predict(X) != 1).all()
    heavy = LACForestClassifier(5, class_weight={0: 3.0}, **given)
    heavy.fit(X, y, X_unlabeled=DRIFTED, control=(CONTROL, Y_CONTROL))
    assert heavy.n_labeled_ == pytest.approx((120 + 2.4 * 50) * 4)


def test_control_can_be_routed():
    with config_context(enable_metadata_routing=True):
        requests = LACForestClassifier().set_fit_request(control=True).get_metadata_routing()
    assert requests.fit.requests["control"] is True


@pytest.mark.parametrize(
    ("control", "error", "message"),
    [
        (CONTROL, TypeError, r"control must be a pair \(X_known, y_known\) .*, got ndarray"),
        ((CONTROL,), TypeError, "got tuple of length 1"),
        ((CONTROL[:, :2], Y_CONTROL), ValueError, "X_known of control has 2 features, but X has 3"),
        ((CONTROL, Y_CONTROL[1:]), ValueError, "y_known of control has 99 labels, but X_known has"),
        ((CONTROL[:9], Y_CONTROL[:9]), ValueError, "control has 9 rows, and 10 are the least"),
        ((CONTROL, Y_CONTROL + 1), ValueError, r"control holds labels that y does not have: \[2\]"),
        ((CONTROL, np.full(100, np.nan)), ValueError, "NaN"),
        ((np.full((100, 3), np.inf), Y_CONTROL), ValueError, "infinity"),
        ((np.full((100, 3), "a"), Y_CONTROL), ValueError, "X_known of control contains text"),
        ((CONTROL[:0], Y_CONTROL[:0]), ValueError, "0 sample"),
    ],
)
def test_controls_that_make_no_sense(control, error, message):
    with pytest.raises(error, match=message):
        LACForestClassifier(5).fit(X, y, X_unlabeled=DRIFTED, control=control)


def test_a_control_of_another_order_of_columns():
    frames = [pd.DataFrame(table, columns=["a", "b", "c"]) for table in (X, U, CONTROL)]
    with pytest.raises(ValueError, match="X_known of control must have the columns of X in the"):
        LACForestClassifier(5).fit(
            frames[0], y, X_unlabeled=frames[1], control=(frames[2][["b", "a", "c"]], Y_CONTROL)
        )


def test_a_control_without_unlabelled_rows():
    with pytest.raises(ValueError, match="control is given without unlabelled rows"):
        LACForestClassifier(5).fit(X, y, control=(CONTROL, Y_CONTROL))


# ---------------------------------------------------------------------------- column_shift


def test_shifts_are_sorted_and_named():
    forest = LACForestClassifier(5, theta=0.4, random_state=0).fit(X, y, X_unlabeled=DRIFTED)
    found = column_shift(forest, ["a", "b", "c"])
    assert [shift.name for shift in found] == ["c", "b", "a"]
    away = [abs(shift.unlabeled - 0.5) for shift in found]
    assert away == sorted(away, reverse=True)
    with pytest.raises(ValueError, match="feature_names has 2 entries, but the forest has 3"):
        column_shift(forest, ["a", "b"])
    forest.column_shift_ = None
    with pytest.raises(ValueError, match="this forest has no table of shifts"):
        column_shift(forest)


def test_findings_are_json(tmp_path):
    forest = LACForestClassifier(5, theta=0.4, random_state=0).fit(X, y, X_unlabeled=DRIFTED)
    assert json.dumps([found.columns for found in forest.fit_findings_]) == '[[], ["x2"]]'
