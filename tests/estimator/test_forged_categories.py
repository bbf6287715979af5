"""Files of forests with categorical columns whose checksums are right and whose content is not."""

import numpy as np
import pytest
from container_files import rewrite
from model_files import assert_not_loaded
from two_blobs import U, X, small_forest, y

from lacforest import LACForestClassifier

N_CATEGORIES = 70  # of the last column: more than one word of a set


def _in_categories(rows):
    coded = rows.copy()
    coded[:, 2] = np.arange(len(rows)) % N_CATEGORIES
    coded[:, 1] = np.floor(np.clip(rows[:, 1] + 2, 0, 9))
    return coded


@pytest.fixture
def path(tmp_path):
    forest = small_forest(n_estimators=2, categorical_features=[1, 2], max_features=3)
    path = tmp_path / "a model.lac"
    forest.fit(_in_categories(X), y, X_unlabeled=_in_categories(U)).save(path, compress=False)
    return path


def _first_set(arrays, feature=1):
    """Where the set of the first node on a column of categories begins."""
    nodes = arrays["nodes"]
    node = np.flatnonzero((nodes["left"] >= 0) & (nodes["feature"] == feature))[0]
    tree = np.searchsorted(arrays["tree_start"], node, side="right") - 1
    return node, int(arrays["sets.tree_start"][tree]) + int(nodes["threshold"][node])


def _move(place):
    def change(arrays):
        arrays["nodes"]["threshold"][_first_set(arrays)[0]] = place

    return change


def _header(first, n_words):
    def change(arrays):
        arrays["sets.words"][_first_set(arrays)[1]] = first + (n_words << 32)

    return change


def _add_code(code):
    def change(arrays):
        arrays["sets.words"][_first_set(arrays)[1] + 1] |= np.uint64(1 << code)

    return change


def _as_type(name, dtype):
    return lambda arrays: arrays.update({name: arrays[name].astype(dtype)})


BAD_SETS = {
    "before the first": (_move(-1), "a set of categories is not there"),
    "between two words": (_move(0.5), "a set of categories is not there"),
    "behind the last": (_move(1e9), "a set of categories is not there"),
    "longer than the words": (_header(0, 10_000), "a set of categories is not there"),
    "without a word": (_header(0, 0), "a set holds what is no category"),
    "of later words": (_header(1, 1), "a set holds what is no category"),
    "of far words": (_header(2**32 - 1, 1), "a set holds what is no category"),
    "one category too many": (_add_code(9), "a set holds what is no category"),
    "the last bit": (_add_code(63), "a set holds what is no category"),
    "starts that fall": (
        lambda arrays: arrays["sets.tree_start"].__setitem__(1, -1),
        "trees do not cover the words of their sets",
    ),
    "signed words": (
        _as_type("sets.words", np.int64),
        "its sets of categories are of another type",
    ),
    "short starts": (
        _as_type("sets.tree_start", np.int32),
        "its sets of categories are of another type",
    ),
    "no words": (lambda arrays: arrays.pop("sets.words"), "it holds the arrays"),
}


@pytest.mark.parametrize(("change", "message"), BAD_SETS.values(), ids=BAD_SETS)
def test_sets(path, change, message):
    rewrite(path, change)
    assert_not_loaded(path, message)


@pytest.mark.parametrize("code", [0, 8])
def test_a_set_may_hold_any_category(path, code):
    rewrite(path, _add_code(code))
    forest = LACForestClassifier.load(path)
    assert len(forest.categories_[1]) == 9
    assert "{" in forest.export_text()


BAD_CATEGORIES = {
    "not a list": (lambda stored: {}, "the categories are not a list"),
    "too few columns": (lambda stored: stored[:2] + stored[:0], "the categories do not match"),
    "text for a column": (lambda stored: [None, "ab", stored[2]], "of a column are invalid"),
    "no items": (lambda stored: [None, {"dtype": "<f8"}, stored[2]], "of a column are invalid"),
    "integers": (
        lambda stored: [None, stored[1] | {"dtype": "<i8"}, stored[2]],
        "neither text nor numbers",
    ),
    "out of order": (
        lambda stored: [None, stored[1] | {"items": stored[1]["items"][::-1]}, stored[2]],
        "too many, or not in order",
    ),
    "too many": (
        lambda stored: [None, stored[1] | {"items": [float(i) for i in range(65_536)]}, stored[2]],
        "too many, or not in order",
    ),
    "infinite": (
        lambda stored: [None, stored[1] | {"items": [*stored[1]["items"][:-1], 1e999]}, stored[2]],
        "a category is not a finite number",
    ),
    "twice": (
        lambda stored: [None, stored[1] | {"items": [0.0, *stored[1]["items"][:-1]]}, stored[2]],
        "holds a label twice",
    ),
    "fewer than the sets name": (
        lambda stored: [None, stored[1] | {"items": [0.0]}, stored[2]],
        "a set holds what is no category",
    ),
}


@pytest.mark.parametrize(("change", "message"), BAD_CATEGORIES.values(), ids=BAD_CATEGORIES)
def test_categories(path, change, message):
    rewrite(
        path, change_header=lambda header: header.update(categories=change(header["categories"]))
    )
    assert_not_loaded(path, message)
