"""NewClassGroups: which rows belong together, under which name."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.cluster.hierarchy import linkage
from separate_classes import draw
from sklearn.exceptions import NotFittedError

from lacforest._model.values import encode_array
from lacforest.discovery import NewClassGroups, _groups
from lacforest.discovery._merging import WardTree, merge_groups
from lacforest.discovery._whitening import find_whitening
from lacforest.discovery.files import decode_groups, encode_groups


def test_two_classes_are_two_groups(known, flagged):
    X, z = flagged
    groups = NewClassGroups().fit(X, **known)
    assert groups.group_names_ == ["new-1", "new-2"]
    assert_array_equal(groups.group_sizes_, [60, 30])
    assert_array_equal(groups.labels_ == 0, z == "c")
    for g, name in enumerate("cd"):
        assert z[groups.medoids_[g]] == name
        assert len(groups.nearest_rows_[g]) == 5
        assert groups.nearest_rows_[g][0] == groups.medoids_[g]


def test_one_class_is_one_group(known):
    X, _ = draw(np.random.default_rng(1), c=80)
    assert_array_equal(NewClassGroups().fit(X, **known).group_sizes_, [80])


def test_a_number_of_groups_is_kept(known, flagged):
    for n_groups in (1, 2, 5):
        assert len(NewClassGroups(n_groups).fit(flagged[0], **known).group_sizes_) == n_groups


def test_row_order_changes_nothing(known, flagged):
    X, _ = flagged
    order = np.random.default_rng(2).permutation(len(X))
    scores = np.random.default_rng(3).random(len(X))
    first = NewClassGroups().fit(X, score=scores, **known)
    second = NewClassGroups().fit(X[order], score=scores[order], **known)
    assert_array_equal(second.labels_, first.labels_[order])
    assert_array_equal(order[second.medoids_], first.medoids_)


def test_the_rows_of_a_large_tree_do_not_depend_on_their_order(known, flagged, monkeypatch):
    monkeypatch.setattr(_groups, "_MOST_ROWS", 30)
    X, _ = flagged
    order = np.random.default_rng(2).permutation(len(X))
    first, second = (NewClassGroups(5).fit(rows, **known) for rows in (X, X[order]))
    assert_array_equal(second.labels_, first.labels_[order])


def test_units_change_nothing(known, flagged):
    X, _ = flagged
    scale, shift = np.array([1000.0, 0.01, 3.0]), np.array([5.0, -2.0, 0.0])
    moved = {"X_labeled": known["X_labeled"] * scale + shift, "y_labeled": known["y_labeled"]}
    first = NewClassGroups().fit(X, **known)
    second = NewClassGroups().fit(X * scale + shift, **moved)
    assert_array_equal(first.labels_, second.labels_)
    assert_allclose(first.gap_, second.gap_)


def test_the_unsure_join_the_nearest_group(known, flagged):
    X, z = flagged
    scores = np.where(np.arange(len(X)) < 20, 0.1, 0.9)
    groups = NewClassGroups(2).fit(X, score=scores, **known)
    assert_array_equal(groups.labels_ == 0, z == "c")


def test_missing_values_and_constant_columns(known, flagged):
    X, z = flagged
    X = np.column_stack([X, np.ones(len(X)), np.full(len(X), np.nan)])
    labeled = np.column_stack([known["X_labeled"], np.ones(120), np.full(120, np.nan)])
    X[::9, 0] = labeled[::7, 1] = np.nan
    groups = NewClassGroups(2).fit(X, X_labeled=labeled, y_labeled=known["y_labeled"])
    assert np.isfinite(groups.centroids_).all()
    complete = ~np.isnan(X[:, 0])
    assert_array_equal((groups.labels_ == 0)[complete], (z == "c")[complete])


def test_a_missing_value_is_no_distance(known, flagged):
    # Column 2 has the same mean in known rows and in group c, far from zero.
    shift = np.array([0.0, 0.0, 1000.0])
    labeled = known | {"X_labeled": known["X_labeled"] + shift}
    rows, z = flagged[0] + shift, flagged[1]
    groups = NewClassGroups(2).fit(rows, **labeled)
    gap = rows[z == "c"].copy()
    gap[:, 2] = np.nan
    assert (groups.predict(gap) == 0).mean() > 0.9


def test_predict_and_far_rows(known, flagged):
    X, _ = flagged
    groups = NewClassGroups().fit(X, **known)
    rows = np.array([[0.0, 8, 0], [8, 8, 8], [30, -30, 30]])
    assert_array_equal(groups.predict(rows), [0, 1, -1])
    assert_array_equal(groups.is_far(rows), [False, False, True])
    assert (groups.predict(X) == groups.labels_).mean() > 0.95


def test_names_stay_and_come_back(known):
    rng = np.random.default_rng(5)
    groups = NewClassGroups(1).fit(draw(rng, c=50)[0], **known)
    assert groups.group_names_ == ["new-1"]
    assert groups.update(draw(rng, d=50)[0]).group_names_ == ["new-2"]
    groups.set_params(n_groups=2)
    X, z = draw(rng, c=30, d=60)
    groups.update(X)
    named = np.array(groups.group_names_)[groups.labels_]
    assert_array_equal(named, np.where(z == "c", "new-1", "new-2"))
    groups.set_params(n_groups=1)
    assert groups.update(draw(rng, c=50)[0]).group_names_ == ["new-1"]
    assert groups.update(np.full((20, 3), 40.0) + rng.normal(size=(20, 3))).group_names_ == [
        "new-3"
    ]


def test_descriptions(known, flagged):
    X, _ = flagged
    frame = pd.DataFrame(X, columns=["x", "y", "z"])
    groups = NewClassGroups().fit(frame, **known).describe(n_columns=1)
    assert [group.name for group in groups] == ["new-1", "new-2"]
    assert groups[0].from_known[0].name == "y"
    assert groups[0].from_groups[0].name in ("x", "z")
    assert groups[0].nearest_class == "a"
    assert str(groups[0]).startswith("new-1: 60 rows, nearest known class a (distance ")


def test_bad_calls(known, flagged):
    X, _ = flagged
    with pytest.raises(ValueError, match="X_labeled has 3 features, but X has 2"):
        NewClassGroups().fit(X[:, :2], **known)
    with pytest.raises(ValueError, match="n_groups=91 groups cannot be made of 90 rows"):
        NewClassGroups(91).fit(X, **known)
    with pytest.raises(TypeError, match="n_groups must be an integer"):
        NewClassGroups("many").fit(X, **known)
    with pytest.raises(ValueError, match=r"score must have shape \(90,\)"):
        NewClassGroups().fit(X, score=[1.0], **known)
    with pytest.raises(ValueError, match="no group of the latest batch was promoted"):
        NewClassGroups().fit(X, **known).next_fit(None)
    with pytest.raises(ValueError, match=r"score must have shape \(90,\) and no NaN"):
        NewClassGroups().fit(X, score=np.where(np.arange(90) == 3, np.nan, 1.0), **known)
    for call in (NewClassGroups().predict, NewClassGroups().is_far, NewClassGroups().update):
        with pytest.raises(NotFittedError):
            call(X)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda labels: np.ma.masked_array(labels, mask=np.arange(len(labels)) == 4), "entry 4 is"),
        (lambda labels: [None, *labels[1:]], "y contains NaN: None among the labels"),
        (lambda labels: [1, *labels[1:]], "y contains labels of several types"),
    ],
    ids=["masked", "missing", "mixed"],
)
def test_labels_that_are_none(known, flagged, change, message):
    with pytest.raises(ValueError, match=message):
        NewClassGroups().fit(flagged[0], **known | {"y_labeled": change(known["y_labeled"])})


def test_masked_rows_are_missing(known, flagged):
    X = np.array(flagged[0])
    hidden = np.random.default_rng(0).random(X.shape) < 0.1
    expected = NewClassGroups().fit(np.where(hidden, np.nan, X), **known)
    X[hidden] = 1e6
    found = NewClassGroups().fit(np.ma.masked_array(X, mask=hidden), **known)
    assert_array_equal(found.centroids_, expected.centroids_)


def test_columns_stand_in_one_order(known, flagged):
    pandas = pytest.importorskip("pandas")
    X, labeled = (
        pandas.DataFrame(rows, columns=list("abc")) for rows in (flagged[0], known["X_labeled"])
    )
    groups = NewClassGroups().fit(X, **known | {"X_labeled": labeled})
    message = "must have the columns of X in the same order, but it has 'b' where X has 'a'"
    for call in (groups.predict, groups.is_far, groups.update):
        with pytest.raises(ValueError, match=f"the batch {message}"):
            call(X[["b", "a", "c"]])
    with pytest.raises(ValueError, match=f"X_labeled {message}"):
        NewClassGroups().fit(X, **known | {"X_labeled": labeled[["b", "a", "c"]]})
    with pytest.raises(ValueError, match=r"X has columns that are not numbers: .'a'"):
        NewClassGroups().fit(X.assign(a="text"), **known)


def test_a_file_keeps_space_and_names(known, flagged):
    X, _ = flagged
    groups = NewClassGroups().fit(X, **known)
    again = decode_groups(encode_groups(groups), 3)
    assert_array_equal(again.predict(X), groups.predict(X))
    with pytest.raises(ValueError, match="call update first"):
        again.describe()
    assert again.update(X).group_names_ == ["new-1", "new-2"]
    assert_array_equal(again.labels_, groups.labels_)
    with pytest.raises(ValueError, match="do not match the features"):
        decode_groups(encode_groups(groups), 4)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"gap": -1}, "no valid gap"),
        ({"names": "ab"}, "names of groups are not a list of different texts"),
        ({"names": []}, "names of groups are not a list of different texts"),
        ({"names": ["new-1", 2]}, "names of groups are not a list of different texts"),
        ({"names": ["new-1", "new-1"]}, "names of groups are not a list of different texts"),
        ({"names": ["new-1"]}, "one centroid and one reach per name"),
        ({"reaches": encode_array(np.array([1.0, -1.0]))}, "a reach of the groups is negative"),
        ({"known_deviation": encode_array(-np.ones(3))}, "a deviation or a reach"),
        ({"labels": {"new-3": "egg"}}, "labels of promoted groups do not belong to groups"),
        ({"labels": {"new-1": []}}, "labels of promoted groups do not belong to groups"),
        ({"labels": []}, "labels of promoted groups do not belong to groups"),
        ({"steps": [1]}, "the steps of columns are not values and heights"),
        ({"steps": [encode_array(np.ones((2, 4)))] * 2}, "steps of columns do not match"),
        ({"steps": [encode_array(np.ones((3, 0)))] * 2}, "steps of columns do not match"),
        ({"steps": [encode_array(-np.eye(3))] * 2}, "the steps of columns do not ascend"),
    ],
)
def test_a_damaged_file_is_refused(known, flagged, change, message):
    groups = NewClassGroups(2).fit(flagged[0], **known)
    with pytest.raises(ValueError, match=message):
        decode_groups(encode_groups(groups) | change, 3)
    with pytest.raises(ValueError, match="its groups are not a JSON object"):
        decode_groups([change], 3)


def test_numbers_too_large_for_distances(known, flagged):
    X = flagged[0].copy()
    X[0, 0] = 1e200
    with pytest.raises(ValueError, match=r"X holds numbers of up to 1e\+200, too large for dist"):
        NewClassGroups().fit(X, **known)
    groups = NewClassGroups(2).fit(flagged[0], **known)
    assert groups.is_far(X)[0]
    assert groups.predict(X)[0] == -1
    stored = encode_groups(groups) | {"matrix": encode_array(1e110 * np.eye(3))}
    with pytest.raises(ValueError, match="X in units of the known classes holds numbers of up to"):
        decode_groups(stored, 3).update(1e60 * flagged[0])


def test_a_file_of_an_older_version_has_no_steps(known, flagged):
    stored = encode_groups(NewClassGroups(2).fit(flagged[0], **known))
    same, older = decode_groups(stored, 3), decode_groups(stored | {"steps": None}, 3)
    del stored["steps"]
    assert decode_groups(stored, 3)._whitening.steps is None
    X = flagged[0]
    assert_array_equal(older._whitening.apply(X), X @ older._whitening.matrix)
    assert (same._whitening.apply(X) != older._whitening.apply(X)).any()
    assert (same.predict(X) >= 0).mean() > 0.9


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"matrix": 1e130 * np.eye(3)}, "the groups hold numbers too large for distances"),
        ({"matrix": 1e90 * np.eye(3), "fill": 1e90 * np.ones(3)}, "numbers too large for dist"),
        ({"matrix": 1e90 * np.eye(3), "steps": 1e90}, "numbers too large for distances"),
        ({"steps": 1e200}, "the groups hold numbers too large for distances"),
        ({"class_means": 1e200 * np.ones((2, 3))}, "the groups hold numbers too large for dist"),
        ({"centroids": 1e200 * np.ones((2, 3))}, r"centroids holds numbers of up to 1e\+200"),
    ],
)
def test_a_file_of_numbers_too_large_for_distances(known, flagged, change, message):
    stored = encode_groups(NewClassGroups(2).fit(flagged[0], **known))
    for name, value in change.items():
        is_steps = name == "steps"
        stored[name] = (
            [encode_array(np.full((3, 2), value))] * 2 if is_steps else encode_array(value)
        )
    with pytest.raises(ValueError, match=message):
        decode_groups(stored, 3)


def test_a_column_of_hardly_any_range_is_a_constant(known, flagged):
    def with_column(X):
        return np.column_stack([X, np.arange(len(X)) * 1e-200])

    space = find_whitening(
        with_column(known["X_labeled"]),
        np.zeros(len(known["X_labeled"]), int),
        with_column(flagged[0]),
    )
    assert_array_equal(space.steps.heights[3], 0.0)

    labeled = known | {"X_labeled": with_column(known["X_labeled"])}
    groups = NewClassGroups(2).fit(with_column(flagged[0]), **labeled)
    assert_array_equal(groups.labels_, NewClassGroups(2).fit(flagged[0], **known).labels_)
    decode_groups(encode_groups(groups), 4)


def test_the_tree_is_built_of_the_surest_rows(known):
    X, z = draw(np.random.default_rng(1), c=60, d=15)
    scores = np.where(z == "c", 0.9, 0.1) + 0.01 * np.random.default_rng(2).random(len(z))
    assert_array_equal(NewClassGroups().fit(X, score=scores, **known).group_sizes_, [75])
    assert_array_equal(NewClassGroups().fit(X, score=-scores, **known).group_sizes_, [60, 15])


def test_a_few_far_rows_are_no_group():
    rows = np.random.default_rng(0).normal(size=(30, 2))
    rows[:2] += 100.0
    tree = WardTree.of(rows)
    assert tree.split(20.0, 3, 10).tolist() == [-1] * 2 + [0] * 28
    assert sorted(set(tree.split(20.0, 2, 10))) == [0, 1]
    assert set(tree.split(20.0, 2, 1)) == {0}


def test_merges_of_single_rows_are_those_of_scipy():
    rows = np.random.default_rng(0).normal(size=(12, 3))
    assert_allclose(merge_groups(rows, np.ones(12, dtype=int)), linkage(rows, "ward"))


def test_gaps_are_distances_of_centroids():
    rows = np.random.default_rng(0).normal(size=(20, 2))
    halves = WardTree.of(rows).cut(2)
    expected = np.linalg.norm(rows[halves == 0].mean(axis=0) - rows[halves == 1].mean(axis=0))
    assert_allclose(WardTree.of(rows).gaps()[0], expected)


# ---------------------------------------------------------------------------- categories

CITIES = ("Köln", "Łódź", "東京")
TEXTS = {"ville": CITIES, "member": ("false", "true")}


def coded_rows(cities, members):
    """Rows of one number, which says nothing, and two columns of codes."""
    number = np.resize([-1.0, 0.0, 1.0], len(cities))
    return np.column_stack([number, cities, members])


@pytest.fixture
def coded():
    known = coded_rows(np.resize([0, 0, 0, 1], 80), np.resize([0, 1], 80))
    flagged = coded_rows(np.append(np.full(38, 2), [0, np.nan]), np.full(40, 1))
    groups = NewClassGroups(1)
    return groups.fit(flagged, X_labeled=known, y_labeled=np.resize([0, 1], 80))


def described(groups, **names):
    return groups.describe(feature_names=["x", "ville", "member"], **names)[0].from_known


def test_categories_are_told_by_name_and_share(coded):
    ville, member = described(coded, n_columns=2, categories=TEXTS)
    assert (ville.name, ville.category, ville.mean, ville.other_mean) == ("ville", "東京", 0.95, 0)
    assert (member.name, member.category, member.mean, member.other_mean) == (
        "member",
        "true",
        1.0,
        0.5,
    )
    # One of 82 rows where no known row has the category.
    assert ville.difference == pytest.approx(0.95 / np.sqrt(1 / 82 * 81 / 82))
    assert str(ville) == "ville = 東京 in 95% (0%)"
    assert ville.told == ("ville = 東京 in 95%", "0%")


def test_columns_that_are_not_named_stay_numbers(coded):
    assert described(coded, n_columns=1)[0].category is None
    # Values that have no text are no codes.
    column = described(coded, n_columns=1, categories={"ville": CITIES[:2]})[0]
    assert (column.name, column.category) == ("ville", None)
    assert {column.category for column in described(coded, categories={"x": CITIES})} == {None}


def test_other_groups_are_compared_by_category_too():
    known = coded_rows(np.resize([0, 1], 80), np.resize([0, 1], 80))
    flagged = coded_rows(np.repeat([0, 2], 20), np.ones(40))
    flagged[:20, 0] += 50
    groups = NewClassGroups(2).fit(flagged, X_labeled=known, y_labeled=np.resize([0, 1], 80))
    for group in groups.describe(feature_names=["x", "ville", "member"], categories=TEXTS):
        (ville,) = (column for column in group.from_groups if column.name == "ville")
        assert (ville.category in CITIES[::2], ville.mean, ville.other_mean) == (True, 1.0, 0.0)


def test_groups_of_a_file_do_not_know_shares_of_categories(coded):
    again = decode_groups(encode_groups(coded), 3)
    again.update(coded._rows)
    assert [column.name for column in described(again, categories=TEXTS)] == ["x"]
    assert described(again)[0].name == "ville"
