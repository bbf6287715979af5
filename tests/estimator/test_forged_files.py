"""Files with valid checksums whose contents would make a tree traversal read invalid memory."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from container_files import read_header, rewrite
from model_files import assert_not_loaded, small_model
from numpy.testing import assert_array_equal
from two_blobs import U, X, fitted_forest, small_forest, y

from lacforest import LACForestClassifier
from lacforest._model.container import ModelFileError
from lacforest._model.forest_files import VERSION, read_attachment


def leaf_and_inner(arrays):
    left = arrays["nodes"]["left"]
    return np.flatnonzero(left < 0), np.flatnonzero(left >= 0)


def set_node(field, which, value):
    """Change one field of an inner node (or leaf) of the first tree."""

    def change(arrays):
        leaves, inner = leaf_and_inner(arrays)
        arrays["nodes"][field][{"leaf": leaves, "inner": inner}[which][0]] = value

    return change


def second_inner(value):
    def change(arrays):
        _, inner = leaf_and_inner(arrays)
        arrays["nodes"]["left"][inner[1]] = value(arrays, inner)

    return change


def drop_last(name):
    return lambda arrays: arrays.update({name: arrays[name][:-1].copy()})


def set_item(name, index, value):
    return lambda arrays: arrays[name].__setitem__(index, value)


def as_type(name, dtype):
    return lambda arrays: arrays.update({name: arrays[name].astype(dtype)})


BAD_TREES = {
    "child beyond the tree": (set_node("left", "inner", 10_000), "child"),
    "child at the end of numbers": (set_node("left", "inner", 2**31 - 1), "child"),
    "its own child": (set_node("left", "inner", 0), "child"),
    "a cycle": (second_inner(lambda arrays, inner: 0), "child"),
    "a shared child": (
        second_inner(lambda arrays, inner: arrays["nodes"]["left"][0]),
        "parent",
    ),
    "a leaf of no distribution": (set_node("left", "leaf", -(2**31)), "leaf"),
    "a leaf just beyond": (
        lambda arrays: set_node("left", "leaf", ~len(arrays["leaf_values"]))(arrays),
        "leaf",
    ),
    "an inner node made a leaf": (set_node("left", "inner", -1), "parent"),
    "feature out of range": (set_node("feature", "inner", 3), "feature"),
    "feature out of range, missing right": (set_node("feature", "inner", ~3), "feature"),
    "the largest feature": (set_node("feature", "inner", 2**31 - 1), "feature"),
    "the smallest feature": (set_node("feature", "inner", -(2**31)), "feature"),
    "threshold that is no number": (set_node("threshold", "inner", np.nan), "threshold"),
    "count that is no number": (set_node("threshold", "leaf", np.nan), "leaf has"),
    "trees that begin late": (set_item("tree_start", 0, 1), "cover"),
    "trees that end late": (set_item("tree_start", -1, 10**6), "cover"),
    "trees that go backwards": (set_item("tree_start", 1, -5), "no node"),
    "a tree without nodes": (set_item("tree_start", 1, 0), "no node"),
    "too few trees": (drop_last("tree_start"), "number of trees"),
    "too few nodes": (drop_last("nodes"), "cover"),
    "too few counts": (drop_last("explored_counts"), "explored_counts"),
    "too many explored": (set_item("n_explored", 0, 10**6), "Step I"),
    "negative explored": (set_item("n_explored", 0, -1), "Step I"),
    "a tree without nodes of Step I": (
        lambda arrays: arrays.update(
            explored_counts=arrays["explored_counts"][arrays["n_explored"][0] :],
            n_explored=arrays["n_explored"] * np.array([0, 1], dtype=np.int32),
        ),
        "Step I",
    ),
    "explored between siblings": (
        lambda arrays: arrays.update(
            n_explored=arrays["n_explored"] - np.array([1, 0], dtype=np.int32),
            explored_counts=arrays["explored_counts"][:-1],
        ),
        "siblings",
    ),
    "negative counts": (set_item("explored_counts", (0, 0), -1), "count"),
    "a leaf with a negative number of rows": (set_node("threshold", "leaf", -1.0), "leaf has"),
    "a leaf with infinitely many rows": (set_node("threshold", "leaf", np.inf), "leaf has"),
    "a leaf with more rows than can be squared": (set_node("threshold", "leaf", 1e200), "leaf has"),
    "a pseudo-label of seven": (
        lambda arrays: arrays["pseudo_labels_"].view(np.uint8).__setitem__(0, 7),
        "neither true nor false",
    ),
    "pseudo-labels and scores in two dimensions": (
        lambda arrays: arrays.update(
            pseudo_labels_=arrays["pseudo_labels_"][:, None],
            unlabeled_score_=arrays["unlabeled_score_"][:, None],
        ),
        "pseudo_labels_ has the wrong type or number of dimensions",
    ),
    "a score above one": (set_item("unlabeled_score_", 0, 1.5), r"not in \[0, 1\]"),
    "a score that is no number": (set_item("unlabeled_score_", 0, np.nan), r"not in \[0, 1\]"),
    "a negative importance": (set_item("feature_importances_", 0, -0.1), "importance"),
    "an infinite importance": (set_item("feature_importances_", 0, np.inf), "importance"),
    "counts in three columns": (
        lambda arrays: arrays.update(explored_counts=np.zeros((6, 3), dtype=np.int64)),
        "explored_counts",
    ),
    "distribution with NaN": (set_item("leaf_values", (-1, 0), np.nan), "distribution|one class"),
    "negative share": (set_item("leaf_values", -1, [-1, 1, 1]), "distribution|one class"),
    "shares beyond one": (set_item("leaf_values", -1, [1, 1, 1]), "distribution|one class"),
    "no leaves of one class": (
        lambda arrays: arrays.update(leaf_values=arrays["leaf_values"][::-1].copy()),
        "one class",
    ),
    "no distributions": (
        lambda arrays: arrays.update(leaf_values=np.zeros((0, 3), dtype=np.float32)),
        "leaf_values",
    ),
    "no classes": (
        lambda arrays: arrays.update(leaf_values=np.zeros((4, 0), dtype=np.float32)),
        "leaf_values",
    ),
    "distributions of double": (as_type("leaf_values", np.float64), "leaf_values"),
    "distributions in one dimension": (
        lambda arrays: arrays.update(leaf_values=arrays["leaf_values"].ravel()),
        "leaf_values",
    ),
    "starts of int32": (as_type("tree_start", np.int32), "tree_start"),
    "explored of int64": (as_type("n_explored", np.int64), "n_explored"),
    "counts of float32": (as_type("explored_counts", np.float32), "explored_counts"),
    "marks of double": (as_type("pseudo_labels_", np.float64), "pseudo_labels_"),
    "scores of float32": (as_type("unlabeled_score_", np.float32), "unlabeled_score_"),
    "scores of other rows": (
        drop_last("unlabeled_score_"),
        "unlabeled_score_ has .* where unlabelled rows is",
    ),
    "importances of other features": (
        drop_last("feature_importances_"),
        "feature_importances_ has 2 entries .* where features is 3",
    ),
}


@pytest.mark.parametrize("deflated", [False, True], ids=["stored", "deflated"])
@pytest.mark.parametrize("kind", BAD_TREES)
def test_trees_that_cannot_be_walked(path, kind, deflated):
    change, message = BAD_TREES[kind]
    rewrite(path, change, deflated=deflated)
    assert_not_loaded(path, f"({message})")


BAD_COLUMNS = {
    "a column too short": (
        lambda arrays: arrays.update({"nodes.child": arrays["nodes.child"][:, :-1].copy()}),
        "nodes.child has .* where inner nodes is",
    ),
    "a column of numbers": (
        as_type("nodes.rows", np.float64),
        "nodes.rows has the wrong type",
    ),
    "a byte too few": (
        lambda arrays: arrays.update({"nodes.leaf": arrays["nodes.leaf"][:3].copy()}),
        "nodes.leaf has 3 entries .* where 4 is 4",
    ),
    "marks of other nodes": (
        lambda arrays: arrays["nodes.is_inner"].__setitem__(0, 0),
        "marks of inner nodes",
    ),
    "starts of another forest": (set_item("tree_start", -1, 2**40), "trees do not cover"),
    "a child beyond its tree": (set_item("nodes.child", (1, 0), 200), "child"),
    "a child out of range": (set_item("nodes.child", (3, 0), 200), "out of range"),
    "a feature out of range": (set_item("nodes.feature", (1, 0), 1), "feature"),
    "no column": (lambda arrays: arrays.pop("nodes.rows"), "it holds the arrays"),
}


@pytest.mark.parametrize("deflated", [False, True], ids=["stored", "deflated"])
@pytest.mark.parametrize("kind", BAD_COLUMNS)
def test_packed_nodes_that_cannot_be_walked(path, kind, deflated):
    small_model().save(path)
    change, message = BAD_COLUMNS[kind]
    rewrite(path, change, deflated=deflated)
    assert_not_loaded(path, f"({message})")


def test_only_compressed_files_are_packed(path):
    assert read_header(path)[0]["version"] == 4
    model = small_model()
    model.save(path)
    header, _ = read_header(path)
    assert header["version"] == VERSION == 7
    assert_array_equal(LACForestClassifier.load(path)._forest.nodes, model._forest.nodes)


# ---------------------------------------------------------------------------- headers

BAD_FACTS = {
    "a newer version": ({"version": VERSION + 1}, "update lacforest"),
    "version zero": ({"version": 0}, "version"),
    "no version": ({"version": None}, "version"),
    "another estimator": ({"estimator": "RandomForestClassifier"}, "it holds a RandomForest"),
    "an estimator of text and more": ({"estimator": ["LACForestClassifier"]}, "names no estimator"),
    "no features": ({"n_features": 0}, "number of features"),
    "too few features": ({"n_features": 1}, ""),
    "too many features": ({"n_features": 4}, "where features is 4"),
    "features of text": ({"n_features": "3"}, "number of features"),
    "absurd features": ({"n_features": 2**40}, "number of features"),
    "a negative ratio": ({"ratio": -1.0}, "ratio"),
    "a ratio of text": ({"ratio": "much"}, ""),
    "an infinite ratio": ({"ratio": float("inf")}, "ratio"),
    "a ratio that is no number": ({"ratio": float("nan")}, "ratio"),
    "theta above one": ({"theta": 1.01}, "theta is invalid"),
    "a negative theta": ({"theta": -0.01}, "theta is invalid"),
    "no theta": ({"theta": None}, "theta"),
    "theta that is no number": ({"theta": float("nan")}, "theta"),
    "an interval beside theta": ({"theta_interval": [0.6, 0.7]}, "the interval of theta"),
    "an interval upside down": ({"theta_interval": [0.7, 0.3]}, "the interval of theta"),
    "an interval below zero": ({"theta_interval": [-0.1, 0.7]}, "the interval of theta"),
    "an interval beyond one": ({"theta_interval": [0.1, 1.1]}, "the interval of theta"),
    "an interval of NaN": ({"theta_interval": [float("nan"), 0.7]}, "the interval of theta"),
    "an interval with one end": ({"theta_interval": [0.3]}, "the interval of theta"),
    "an interval with three ends": ({"theta_interval": [0.3, 0.5, 0.7]}, "the interval of theta"),
    "an interval in text": ({"theta_interval": "37"}, "the interval of theta"),
    "an interval of lists": ({"theta_interval": [[], []]}, ""),
    "an interval in a number": ({"theta_interval": 0.5}, "the interval of theta"),
    "no labelled rows": ({"n_labeled": 0.0}, "labelled rows"),
    "infinite labelled rows": ({"n_labeled": float("inf")}, "labelled rows"),
    "labelled rows of none": ({"n_labeled": None}, ""),
    "no new class": ({"new_class_index": None}, "classes"),
    "new class out of range": ({"new_class_index": 3}, "class"),
    "negative new class": ({"new_class_index": -1}, "class"),
    "another new class": ({"new_class_index": 1}, "contradict"),
    "too few names": ({"feature_names": ["a", "b"]}, "names"),
    "a name twice": ({"feature_names": ["a", "b", "a"]}, "names"),
    "names of half a character": ({"feature_names": ["a", "\ud800", "c"]}, "half a character"),
    "names of numbers": ({"feature_names": [1, 2, 3]}, "names"),
    "names in text": ({"feature_names": "abc"}, "names"),
    "an unknown parameter": ({"parameters": {"n_trees": 5}}, "n_trees"),
    "parameters in a list": ({"parameters": [1, 2]}, ""),
    "a parameter in a list": ({"parameters": {"max_depth": [3]}}, "list where a number"),
    "jobs of text": ({"parameters": {"n_jobs": "two"}}, "n_jobs must be an integer"),
    "no jobs": ({"parameters": {"n_jobs": 0}}, "n_jobs must not be 0"),
    "a parameter of an unknown kind": ({"parameters": {"theta": {"x": 1}}}, "unknown kind"),
    "a parameter of a type of numpy that is none": (
        {"parameters": {"theta": {"numpy": "no type", "value": 1}}},
        "",
    ),
    # numpy.void(n) has n bytes, so a short header could request gigabytes.
    "a parameter of bytes": ({"parameters": {"theta": {"numpy": "|V1", "value": 2**20}}}, ""),
    "an unknown estimator of theta": (
        {"parameters": {"theta": {"theta_estimator": "system", "parameters": {"pairs": []}}}},
        "unknown estimator: 'system'",
    ),
    "a class of scikit-learn for theta": (
        {"parameters": {"theta": {"theta_estimator": "SVC", "parameters": {"pairs": []}}}},
        "unknown estimator: 'SVC'",
    ),
    "an estimator of theta in a list": (
        {"parameters": {"theta": {"theta_estimator": ["BestBin"], "parameters": {"pairs": []}}}},
        "",
    ),
    "an estimator of theta with parameters it lacks": (
        {
            "parameters": {
                "theta": {"theta_estimator": "BestBin", "parameters": {"pairs": [["x", 1]]}}
            }
        },
        "'x'",
    ),
    "an estimator of theta without parameters": (
        {"parameters": {"theta": {"theta_estimator": "BestBin", "parameters": None}}},
        "",
    ),
    "a key that is a list": ({"parameters": {"class_weight": {"pairs": [[[], 1]]}}}, ""),
    "no classes": ({"classes": {"dtype": "<i8", "items": []}}, "classes"),
    "a class twice": ({"classes": {"dtype": "<i8", "items": [-1, -1, 0]}}, "twice"),
    "classes that fill memory": (
        {"classes": {"dtype": "<U500000000", "items": [str(i) for i in range(100_000)]}},
        "",
    ),
    "classes of records": ({"classes": {"dtype": "V8", "items": [1, 2, 3]}}, "type of .*classes"),
    # NumPy reads text with commas as Python, and fails with an error of Python's syntax.
    "classes of code": ({"classes": {"dtype": "i8,(", "items": [1, 2, 3]}}, "type of .*classes"),
    "a number of code": ({"parameters": {"theta": {"numpy": "(,", "value": 1}}}, "a parameter"),
    "a number of objects": ({"parameters": {"theta": {"numpy": "|O", "value": 1}}}, "object"),
    "no such number": ({"parameters": {"theta": {"numpy": "<f10", "value": 1}}}, "does not exist"),
    "classes of several kinds": ({"classes": {"dtype": "<U3", "items": ["a", 1, 2]}}, "mixes"),
    "classes in lists": ({"classes": {"dtype": "<i8", "items": [[1], [2], [3]]}}, ""),
    "classes that are no numbers": ({"classes": {"dtype": "<i8", "items": ["a", "b", "c"]}}, ""),
    "classes beyond their type": ({"classes": {"dtype": "|i1", "items": [-1, 0, 999]}}, ""),
    "classes out of order": ({"classes": {"dtype": "<i8", "items": [-1, 1, 0]}}, "contradict"),
    "no dtype of classes": ({"classes": {"items": [-1, 0, 1]}}, "dtype"),
    "one class too many": (
        {"classes": {"dtype": "<i8", "items": [-1, 0, 1, 2]}},
        "number of classes",
    ),
    "other known classes": ({"known_classes": {"dtype": "<i8", "items": [0, 7]}}, "contradict"),
}


@pytest.mark.parametrize("kind", BAD_FACTS)
def test_headers_that_contradict_the_trees(path, kind):
    facts, message = BAD_FACTS[kind]
    rewrite(path, change_header=lambda header: header.update(facts))
    assert_not_loaded(path, message)


@pytest.mark.parametrize("shift", ["nan", "1e999", "3", True, [], float("inf")])
def test_a_shift_of_shares_that_is_no_finite_number(path, shift):
    # A shift of "nan" was read, and such a forest could not be saved again.
    rewrite(path, change_header=lambda header: header["deployment"].update(share_shift=shift))
    assert_not_loaded(path, "share_shift is not a finite number")


def test_an_interval_in_a_plain_forest(tmp_path):
    path = tmp_path / "a model.lac"
    small_forest(n_estimators=2).fit(X, y).save(path, compress=False)
    rewrite(path, change_header=lambda header: header.update(theta_interval=[0.3, 0.7]))
    assert_not_loaded(path, "the interval of theta is invalid")


@pytest.mark.parametrize(
    ("theta", "interval"),
    [(0.0, [0.0, 0.0]), (0.0, None), (1.0, [0.4, 1.0]), (0.5, [0.5, 0.5]), (0.5, [0, 1])],
)
def test_an_estimate_may_be_all_or_nothing(path, theta, interval):
    facts = {"theta": theta, "theta_interval": interval}
    rewrite(path, change_header=lambda header: header.update(facts))
    loaded = LACForestClassifier.load(path)
    assert loaded.theta_ == theta
    assert loaded.theta_interval_ == (None if interval is None else tuple(interval))
    assert np.isfinite(loaded.estimators_[0].impurity).all()


def test_files_of_version_one_know_no_interval(path):
    def to_version_one(header):
        header["version"] = 1
        del header["theta_interval"]

    rewrite(path, change_header=to_version_one)
    assert LACForestClassifier.load(path).theta_interval_ is None


def test_headers_that_miss_a_fact(path):
    content, (header, _) = path.read_bytes(), read_header(path)
    for fact in header.keys() - {"attachment"}:  # there need not be one
        path.write_bytes(content)
        rewrite(path, change_header=lambda header, fact=fact: header.pop(fact))
        assert_not_loaded(path)


@pytest.mark.parametrize("attachment", ["text", 7, ["a", "list"]])
def test_attachments_that_are_no_mapping(path, attachment):
    rewrite(path, change_header=lambda header: header.update(attachment=attachment))
    with pytest.raises(ModelFileError, match=r"a model\.lac.*its attachment is not a JSON object"):
        read_attachment(path)


# ---------------------------------------------------------------------------- pickles


def test_a_pickle_with_broken_trees_is_refused():
    # Pickles must come from trusted sources, but a broken one must not crash the process either.
    forest = fitted_forest()
    nodes = forest._forest.nodes.copy()
    nodes["left"][0] = 10**6
    forest._forest = replace(forest._forest, nodes=nodes)
    with pytest.raises(ValueError, match="not a valid forest: a child is not after its parent"):
        pickle.loads(pickle.dumps(forest))


def test_a_pickle_with_something_else_for_trees_is_refused():
    forest = fitted_forest()
    forest._forest = {"nodes": forest._forest.nodes}
    with pytest.raises(ValueError, match="trees are of another type"):
        pickle.loads(pickle.dumps(forest))


def test_state_that_is_refused_leaves_the_estimator_alone():
    forest, broken = fitted_forest(), fitted_forest()
    expected = forest.predict_proba(U)
    state = vars(broken) | {"_forest": replace(broken._forest, n_features=0)}
    with pytest.raises(ValueError, match="a feature is out of range"):
        forest.__setstate__(state)
    assert (forest.predict_proba(U) == expected).all()
    assert isinstance(forest, LACForestClassifier)
