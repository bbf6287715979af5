"""warm_start: a second fit keeps its trees and adds those that are missing."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from sklearn.base import clone
from two_blobs import U, X, y

from lacforest import LACExtraTreesClassifier, LACForestClassifier
from lacforest._growing.soft_labels import SoftLabels
from lacforest.mixture import RankMixture

FORESTS = [
    LACForestClassifier(7, theta=0.5, random_state=0),
    LACForestClassifier(7, theta=0.5, max_samples=0.6, random_state=0),
    LACForestClassifier(7, theta=0.5, bootstrap=True, pseudo_cap=0.5, random_state=0),
    *(
        LACExtraTreesClassifier(
            7, theta=0.5, n_explorers=9, max_samples=0.8, refinement=refinement, random_state=0
        )
        for refinement in ("both", "hard", "sampled")
    ),
]
NAMES = ["paper", "samples", "bootstrap", "both", "hard", "sampled"]
each_forest = pytest.mark.parametrize("forest", FORESTS, ids=NAMES)


def fit(forest, n_estimators=7, unlabeled=U, **parameters):
    return forest.set_params(n_estimators=n_estimators, **parameters).fit(
        X, y, X_unlabeled=unlabeled
    )


def warm(forest, *numbers, unlabeled=U):
    """A forest fitted once for each number of trees."""
    forest = clone(forest).set_params(warm_start=True)
    for n_estimators in numbers:
        fit(forest, n_estimators, unlabeled)
    return forest


def trees(forest, first=0, end=None):
    """Structure of each tree: cuts, and shares of classes."""
    return [
        (tree.feature.tolist(), tree.threshold.tolist(), tree.value.tolist())
        for tree in list(forest.estimators_)[first:end]
    ]


@each_forest
def test_trees_of_the_first_fit_stay(forest):
    first = fit(clone(forest))
    both = warm(forest, 7, 16)
    both._forest.validate()
    assert len(both.estimators_) == 16
    # Of a tree of both steps, impurities of Step I are shown with the same theta.
    assert trees(both, 0, 7) == trees(first)
    assert_array_equal(both.apply(U)[:, :7], first.apply(U))


@each_forest
def test_a_plain_forest_is_that_of_one_fit(forest):
    one, several = fit(clone(forest), 16, None), warm(forest, 7, 9, 16, unlabeled=None)
    assert trees(several) == trees(one)
    assert_array_equal(several.predict_proba(U), one.predict_proba(U))
    assert_array_equal(several.feature_importances_, one.feature_importances_)


@pytest.mark.parametrize("forest", FORESTS[:3], ids=NAMES[:3])
def test_added_trees_are_those_of_one_fit(forest):
    one, several = fit(clone(forest), 16), warm(forest, 7, 9, 16)
    assert trees(several, 9) == trees(one, 9)
    assert trees(several, 7, 9) == trees(fit(clone(forest), 9), 7)
    # Step I is the same in all of them, and so is all that follows from it alone.
    assert_array_equal(several.unlabeled_score_, one.unlabeled_score_)
    assert_array_equal(several.pseudo_labels_, one.pseudo_labels_)
    assert_array_equal(
        several.novelty_score(U, stage="exploration"), one.novelty_score(U, stage="exploration")
    )


def test_hard_trees_are_those_of_one_fit():
    one, several = fit(clone(FORESTS[4]), 16), warm(FORESTS[4], 7, 9, 16)
    assert trees(several) == trees(one)
    assert_array_equal(several.predict_proba(U), one.predict_proba(U))
    assert_array_equal(several.feature_importances_, one.feature_importances_)


@pytest.mark.parametrize("forest", FORESTS[3:], ids=NAMES[3:])
def test_step_one_stays_where_it_has_trees_of_its_own(forest):
    first, both = fit(clone(forest)), warm(forest, 7, 16)
    assert_array_equal(both.unlabeled_score_, first.unlabeled_score_)
    assert_array_equal(both.pseudo_labels_, first.pseudo_labels_)
    assert_array_equal(
        both.novelty_score(X, stage="exploration"), first.novelty_score(X, stage="exploration")
    )


def test_kinds_of_added_trees_alternate_as_in_one_fit():
    # One tree is on pseudo-labels, two are one of each kind: the second draws labels by the first.
    base = clone(FORESTS[3]).set_params(max_samples=None)
    forest, two = warm(base, 1, 2), fit(clone(base), 2)
    assert trees(forest) == trees(two)
    for n_estimators in (3, 4):
        fit(forest, n_estimators)
    assert len(forest.estimators_) == 4


def test_every_tree_draws_labels_by_a_seed_of_its_own(monkeypatch):
    seeds = []
    draw = SoftLabels.draw
    monkeypatch.setattr(
        SoftLabels, "draw", lambda soft, seed: seeds.append(seed) or draw(soft, seed)
    )
    base = clone(FORESTS[5]).set_params(max_samples=None)
    fit(clone(base), 16)
    expected, seeds = seeds, []
    warm(base, 7, 16)
    assert seeds == expected


@each_forest
def test_many_small_steps_learn_as_well_as_one_fit(forest):
    # Shares of classes in unlabelled rows are by the votes of the first trees: some are needed.
    several, one = warm(forest, *range(8, 30, 3)), fit(clone(forest), 29)
    hidden = np.repeat([0, 1, -1], [20, 20, 40])
    assert (several.predict(U) == hidden).mean() > (one.predict(U) == hidden).mean() - 0.03


def test_theta_is_estimated_once(monkeypatch):
    forest = LACForestClassifier(5, theta=RankMixture(), random_state=0, warm_start=True)
    fit(forest, 5)
    found = forest.theta_estimator_
    monkeypatch.setattr(RankMixture, "fit_stack", None)
    fit(forest, 8)
    assert forest.theta_estimator_ is found
    assert forest.theta_ == found.theta_


def test_shares_that_have_moved_still_weigh_rows():
    base = LACForestClassifier(5, theta=0.5, known_shares=[0.9, 0.1], random_state=0)
    one, several = fit(clone(base), 12), warm(base, 5, 12)
    assert trees(several, 5) == trees(one, 5)
    assert_array_equal(several.known_shares_, one.known_shares_)


def test_seeds_go_on_from_the_first_fit():
    one = fit(clone(FORESTS[0]), 16)
    for random_state in (None, np.random.RandomState(0), 5):
        forest = warm(FORESTS[0], 7).set_params(random_state=random_state)
        assert trees(fit(forest, 16), 7) == trees(one, 7)


def test_the_number_of_threads_may_change_and_pickles_go_on():
    forest = pickle.loads(pickle.dumps(warm(FORESTS[0], 7)))
    fit(forest, 16, n_jobs=2)
    assert trees(forest) == trees(warm(FORESTS[0], 7, 16))


def test_out_of_bag_scores_are_of_all_trees():
    forest = clone(FORESTS[2]).set_params(warm_start=True, oob_score=True)
    fit(forest, 20, None)
    fit(forest, 40, None)
    one = fit(clone(FORESTS[2]).set_params(oob_score=True), 40, None)
    assert_array_equal(forest.oob_decision_function_, one.oob_decision_function_)


def test_categories_are_kept():
    pandas = pytest.importorskip("pandas")

    def frame(table):
        codes = np.digitize(table[:, 0], np.quantile(X[:, 0], [0.2, 0.5, 0.8]))
        names = pandas.Categorical(np.array(list("dacb"))[codes], list("abcd"))
        return pandas.DataFrame({"number": table[:, 1], "name": names})

    base = LACForestClassifier(5, theta=0.5, random_state=0)
    several = clone(base).set_params(warm_start=True).fit(frame(X), y, X_unlabeled=frame(U))
    several.set_params(n_estimators=12).fit(frame(X), y, X_unlabeled=frame(U))
    several._forest.validate()
    one = clone(base).set_params(n_estimators=12).fit(frame(X), y, X_unlabeled=frame(U))
    assert [tree.export_text() for tree in list(several.estimators_)[5:]] == [
        tree.export_text() for tree in list(one.estimators_)[5:]
    ]
    renamed = frame(X)
    renamed["name"] = renamed["name"].cat.rename_categories({"a": "z"})
    with pytest.raises(ValueError, match="rows, labels or weights are not those"):
        several.set_params(n_estimators=15).fit(renamed, y, X_unlabeled=renamed)


def test_as_many_trees_as_before():
    forest = warm(FORESTS[0], 7)
    before = trees(forest)
    with pytest.warns(UserWarning, match=r"has 7 trees already, so this fit grows none"):
        fit(forest, 7)
    assert trees(forest) == before
    assert len(fit(forest, 9).estimators_) == 9


def test_fewer_trees_are_refused():
    forest = warm(FORESTS[0], 7)
    before = trees(forest)
    with pytest.raises(ValueError, match=r"has 7 trees already, and n_estimators=5 asks for fewer"):
        fit(forest, 5)
    assert trees(forest) == before


@pytest.mark.parametrize(
    ("name", "value"),
    [("theta", 0.4), ("max_depth", 3), ("known_shares", "labeled"), ("gamma", 0.02)],
)
def test_other_parameters_are_refused(name, value):
    forest = warm(FORESTS[0], 7).set_params(**{name: value})
    with pytest.raises(ValueError, match=f"warm_start=True: {name} is not what it was"):
        fit(forest, 9)


def test_equal_parameters_are_the_same():
    shares = np.array([0.5, 0.5])
    base = LACForestClassifier(5, theta=RankMixture(), known_shares=shares, random_state=0)
    forest = warm(base, 5).set_params(theta=RankMixture(), known_shares=np.array([0.5, 0.5]))
    assert len(fit(forest, 6).estimators_) == 6


def other_data():
    moved = X.copy()
    moved[0, 0] += 1e-9
    labels = y.copy()
    labels[0] = labels[-1]
    weight = np.ones(len(X))
    weight[3] = 2
    yield "a value", (moved, y), {"X_unlabeled": U}
    yield "a label", (X, labels), {"X_unlabeled": U}
    yield "a weight", (X, y), {"X_unlabeled": U, "sample_weight": weight}
    yield "an unlabelled row", (X, y), {"X_unlabeled": U[:-1]}
    yield "no unlabelled rows", (X, y), {}
    yield "a control", (X, y), {"X_unlabeled": U, "control": (X[::2], y[::2])}


@pytest.mark.parametrize(
    ("rows", "others"), [case[1:] for case in other_data()], ids=[c[0] for c in other_data()]
)
def test_other_data_is_refused(rows, others):
    forest = warm(FORESTS[0], 7).set_params(n_estimators=9)
    with pytest.raises(ValueError, match="rows, labels or weights are not those"):
        forest.fit(*rows, **others)
    assert len(forest.estimators_) == 7


def test_a_fit_that_kept_nothing_is_not_continued(tmp_path):
    cold = fit(clone(FORESTS[0]))
    message = "cannot be continued. All trees are grown anew"
    with pytest.warns(UserWarning, match=message):
        fit(cold, 9, warm_start=True)
    assert trees(cold) == trees(fit(clone(FORESTS[0]), 9))
    warm(FORESTS[0], 7).save(tmp_path / "model.lac")
    loaded = LACForestClassifier.load(tmp_path / "model.lac")
    with pytest.warns(UserWarning, match=message):
        fit(loaded, 9)


def test_a_cold_fit_forgets():
    forest = warm(FORESTS[0], 7)
    fit(forest, 5, warm_start=False)
    assert len(forest.estimators_) == 5
    assert forest._earlier is None


def test_an_adapted_forest_goes_on_without_the_adaptation():
    adapted = warm(FORESTS[0], 7).adapt(U[:40])
    fit(adapted, 16)
    assert adapted.adaptation_ is None
    assert adapted.theta_ == 0.5
    assert trees(adapted) == trees(warm(FORESTS[0], 7, 16))


def test_warm_start_is_true_or_false():
    with pytest.raises(TypeError, match="warm_start must be True or False"):
        fit(LACForestClassifier(5, warm_start="yes"))
