"""Verified rows of groups: the next training set, and the shares of the next fit."""

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from separate_classes import draw

from lacforest import LACForestClassifier
from lacforest.discovery import NewClassGroups


def test_promote(known, flagged):
    X, _ = flagged
    groups = NewClassGroups().fit(X, **known)
    rows = groups.nearest_rows_[0][:3]
    X_more, y_more = groups.promote({"new-1": "fraud"}, rows)
    assert_array_equal(X_more, X[rows])
    assert_array_equal(y_more, ["fraud"] * 3)
    assert groups.promoted_ == {"new-1": "fraud"}


def test_shares_of_the_next_fit(known, flagged):
    groups = NewClassGroups().fit(flagged[0], **known)
    groups.promote({"new-1": "fraud"}, [int(groups.medoids_[0])])
    forest = LACForestClassifier(2, theta=0.45, random_state=0)
    forest.fit(known["X_labeled"], known["y_labeled"], X_unlabeled=flagged[0])
    following = groups.next_fit(forest)
    assert_allclose(following["theta"], 0.15)
    assert following["known_shares"] == pytest.approx(
        {"a": 0.275 / 0.85, "b": 0.275 / 0.85, "fraud": 0.3 / 0.85}
    )


def shares_after(groups, forest):
    """Shares of all classes in deployment, as the next fit gets them."""
    following = groups.next_fit(forest)
    known = {k: (1 - following["theta"]) * v for k, v in following["known_shares"].items()}
    return {"new": following["theta"], **known}


def test_a_group_of_several_labels_is_divided_among_them(known, flagged):
    groups = NewClassGroups().fit(flagged[0], **known)
    rows = np.flatnonzero(groups.labels_ == 0)[:10]
    X, y = groups.promote({"new-1": "fraud"}, rows, ["fraud"] * 5 + ["scam"] * 3 + ["a"] * 2)
    assert_array_equal(X, flagged[0][rows])
    assert y.tolist() == ["fraud"] * 5 + ["scam"] * 3 + ["a"] * 2
    assert groups.promoted_ == {"new-1": "fraud"}
    forest = LACForestClassifier(2, theta=0.45, random_state=0)
    forest.fit(known["X_labeled"], known["y_labeled"], X_unlabeled=flagged[0])
    # The group has 60 of 90 rows: .3 of deployment.
    expected = {"new": 0.15, "a": 0.275 + 0.06, "b": 0.275, "fraud": 0.15, "scam": 0.09}
    assert shares_after(groups, forest) == pytest.approx(expected)
    # More rows of the same batch are added to these.
    groups.promote({"new-1": "scam"}, np.flatnonzero(groups.labels_ == 0)[10:12])
    expected |= {"a": 0.275 + 0.05, "fraud": 0.125, "scam": 0.125}
    assert shares_after(groups, forest) == pytest.approx(expected)
    again = LACForestClassifier(2, random_state=0, **groups.next_fit(forest))
    labels = np.concatenate([known["y_labeled"], y])
    again.fit(np.concatenate([known["X_labeled"], X]), labels, X_unlabeled=flagged[0])
    assert again.known_classes_.tolist() == ["a", "b", "fraud", "scam"]


def test_a_group_that_was_promoted_before_keeps_its_label(known):
    rng = np.random.default_rng(5)
    X, _ = draw(rng, c=50)
    groups = NewClassGroups(1).fit(X, **known)
    groups.promote({"new-1": "fraud"}, range(4), ["fraud", "fraud", "fraud", "a"])
    groups.update(draw(rng, c=50)[0])
    forest = LACForestClassifier(2, theta=0.4, random_state=0)
    forest.fit(known["X_labeled"], known["y_labeled"], X_unlabeled=X)
    assert shares_after(groups, forest)["fraud"] == pytest.approx(0.4, abs=0.002)


def test_a_promoted_class_is_called_by_its_name(known):
    rng = np.random.default_rng(7)
    U, z = draw(rng, a=60, b=60, c=120)
    forest = LACForestClassifier(30, random_state=0).fit(
        known["X_labeled"], known["y_labeled"], X_unlabeled=U
    )
    is_new = forest.predict(U) == forest.new_label_
    groups = NewClassGroups(1).fit(U[is_new], **known)
    X_more, y_more = groups.promote({"new-1": "c"}, range(20))
    X, y = np.concatenate([known["X_labeled"], X_more]), np.append(known["y_labeled"], y_more)
    again = LACForestClassifier(30, random_state=0, **groups.next_fit(forest))
    predicted = again.fit(X, y, X_unlabeled=U).predict(U)
    assert (predicted[z == "c"] == "c").mean() > 0.9


@pytest.mark.parametrize(
    ("names", "rows", "message"),
    [
        ({"new-9": "x"}, [0], "there is no group 'new-9': the groups are new-1, new-2"),
        ({"new-1": "x"}, [], "rows is empty"),
        ({"new-1": "x"}, [90], "rows must lie between 0 and 89"),
        ({"new-1": "x"}, [0, -1], "rows must lie between 0 and 89"),
        ({"new-1": "x"}, range(90), "belongs to group 'new-2', which names does not mention"),
    ],
)
def test_bad_promotions(known, flagged, names, rows, message):
    groups = NewClassGroups().fit(flagged[0], **known)
    with pytest.raises(ValueError, match=message):
        groups.promote(names, rows)


def test_labels_that_are_not_those_of_the_rows(known, flagged):
    groups = NewClassGroups().fit(flagged[0], **known)
    for labels, message in (
        (["x"], "labels must have one label for each of the 2 rows"),
        (["x", None], "None among the labels"),
        ("xy", "1d array"),
    ):
        with pytest.raises(ValueError, match=message):
            groups.promote({"new-1": "x"}, groups.nearest_rows_[0][:2], labels)
    assert groups.promoted_ == {}


@pytest.mark.parametrize(
    "rows", [np.arange(90) < 3, [True, False], [0.7], ["0"], [[0]], [10**30]], ids=str
)
def test_rows_that_are_no_positions(known, flagged, rows):
    groups = NewClassGroups(1).fit(flagged[0], **known)
    with pytest.raises(TypeError, match=r"of a mask pass numpy\.flatnonzero\(mask\)"):
        groups.promote({"new-1": "x"}, rows)
    assert groups.promoted_ == {}


@pytest.mark.parametrize("label", [None, np.nan, ["x"]])
def test_a_group_without_a_label(known, flagged, label):
    groups = NewClassGroups(1).fit(flagged[0], **known)
    with pytest.raises(ValueError, match=r"group 'new-1' has the label .*: give it a text"):
        groups.promote({"new-1": label}, [0])
    with pytest.raises(TypeError, match="names must be a dict of labels by group, got 'new-1'"):
        groups.promote("new-1", [0])
