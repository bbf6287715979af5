"""Files of fitted forests.

A reader accepts every version of the format up to its own, and a writer uses the lowest version
that can hold the forest.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacforest._input.categories import TableCategories
from lacforest._model.arrays import ForestArrays, check_members
from lacforest._model.category_header import decode_categories, encode_categories
from lacforest._model.classifier_header import (
    classifier_header,
    decode_parameters,
    restore_classifier,
)
from lacforest._model.container import (
    ModelFileError,
    StoredArrays,
    naming_the_file,
    read_container,
    read_header,
    write_container,
)
from lacforest._model.deployment_header import (
    encode_adaptation,
    encode_deployment,
    restore_adaptation,
    restore_deployment,
)
from lacforest._model.packed_nodes import PACKED_ARRAYS, pack_nodes, unpack_nodes
from lacforest._tree.sets import CategorySets

# Version 1 had no interval of theta, up to version 2 a file held one forest, and up to version 3 it
# had neither shares of classes nor findings. Version 5 holds a forest adapted to a batch; older
# readers would predict without the adaptation. Version 6 holds categories, and may be adapted. In
# version 7, that of compressed files, nodes are packed; all else is optional, as in version 6.
VERSION = 7
_UNPACKED = 6
_NO_CATEGORIES = 5
_NOT_ADAPTED = 4
_ONE_FOREST = 2
_TWO_FORESTS = 3
# Shapes by name of size.
_FOREST_ARRAYS: dict[str, tuple[str | int, ...]] = {
    "nodes": ("nodes",),
    "tree_start": ("starts",),
    "leaf_values": ("distributions", "classes"),
    "n_explored": ("trees",),
    "explored_counts": ("explored nodes", 2),
}
# Sets of a forest with categorical features, by the names of `CategorySets`.
_SET_ARRAYS: dict[str, tuple[str | int, ...]] = {
    "words": ("words",),
    "tree_start": ("starts",),
}
_SETS = "sets."
_PACKED = "nodes."
# Arrays of the trees of Step I, where they are not the ones that predict.
_EXPLORED = "explored."
_FITTED_ARRAYS = {
    "pseudo_labels_": np.dtype(bool),
    "unlabeled_score_": np.dtype(np.float64),
    "feature_importances_": np.dtype(np.float64),
}
_FITTED_SIZES = {
    "pseudo_labels_": "unlabelled rows",
    "unlabeled_score_": "unlabelled rows",
    "feature_importances_": "features",
}


def save_forest(
    estimator: Any,
    path: str | os.PathLike[str],
    compress: bool,
    attachment: dict[str, Any] | None = None,
) -> None:
    """Write a fitted forest to `path`; nodes are packed if it is compressed.

    An attachment is anything that belongs to the model and that JSON can hold, like the coding of
    a table; `read_attachment` returns it.
    """
    forest = estimator._forest
    explored = estimator._explored
    categories = estimator._categories
    arrays = _arrays_of(forest, "", compress)
    if explored is not None:
        arrays |= _arrays_of(explored, _EXPLORED, compress)
    arrays |= {name: getattr(estimator, name) for name in _FITTED_ARRAYS}
    header = classifier_header(estimator) | {
        "version": _NOT_ADAPTED if estimator._class_factors is None else _NO_CATEGORIES,
        "has_two_forests": explored is not None,
        "n_labeled": estimator.n_labeled_,
        "ratio": forest.ratio if explored is None else explored.ratio,
        "deployment": encode_deployment(estimator),
        "attachment": attachment,
    }
    if estimator._class_factors is not None:
        header["adaptation"] = encode_adaptation(estimator)
    if categories is not None:
        header |= {"version": _UNPACKED, "categories": encode_categories(categories)}
    if compress:
        header["version"] = VERSION
    write_container(path, header, arrays, compress)


def _arrays_of(forest: ForestArrays, prefix: str, packed: bool) -> dict[str, NDArray[Any]]:
    arrays = {name: getattr(forest, name) for name in _FOREST_ARRAYS}
    if packed:
        columns = pack_nodes(arrays.pop("nodes"), forest.tree_start)
        arrays |= {_PACKED + name: column for name, column in columns.items()}
    if forest.sets is not None:
        arrays |= {_SETS + name: getattr(forest.sets, name) for name in _SET_ARRAYS}
    return {prefix + name: array for name, array in arrays.items()}


def load_forest(cls: type, path: str | os.PathLike[str], mmap: bool) -> Any:
    """The estimator of a file that `save_forest` wrote."""
    return read_forest(path, cls.__name__, lambda header: cls(**decode_parameters(header)), mmap)


def read_forest(
    path: str | os.PathLike[str], name: str, make: Callable[[dict[str, Any]], Any], mmap: bool
) -> Any:
    """Read and check a file; raises ModelFileError before any array is walked.

    Parameters
    ----------
    path : str or path-like
    name : str
        The class that the file must hold.
    make : callable
        Takes the header and returns an object with the parameters of the estimator, on which
        fitted attributes are set.
    mmap : bool
        Map the arrays instead of reading them.
    """
    with naming_the_file(path):
        header, arrays = read_container(path, name, VERSION, mmap)
        return _rebuild(make, header, arrays)


def read_attachment(path: str | os.PathLike[str]) -> tuple[str, dict[str, Any] | None]:
    """The class of a saved estimator, and the attachment of the file, or None."""
    with naming_the_file(path):
        with open(path, "rb") as file:
            header = read_header(file, VERSION)[0]
        attachment = header.get("attachment")
        if attachment is not None and not isinstance(attachment, dict):
            raise ModelFileError("its attachment is not a JSON object")
    return header["estimator"], attachment


def _rebuild(
    make: Callable[[dict[str, Any]], Any], header: dict[str, Any], arrays: StoredArrays
) -> Any:
    has_explored = header["version"] == _TWO_FORESTS
    if header["version"] > _TWO_FORESTS:
        has_explored = header["has_two_forests"] is True
    is_packed = header["version"] > _UNPACKED
    categories = None
    if header["version"] == _UNPACKED or (is_packed and header.get("categories") is not None):
        categories = decode_categories(header["categories"])
    has_sets = categories is not None and any(categories.n_categories)
    shapes = dict(_FOREST_ARRAYS)
    if is_packed:
        del shapes["nodes"]
        shapes |= {_PACKED + name: shape for name, shape in PACKED_ARRAYS.items()}
    if has_sets:
        shapes |= {_SETS + name: shape for name, shape in _SET_ARRAYS.items()}
    names = [*shapes]
    if has_explored:
        names += [_EXPLORED + name for name in shapes]
    expected = (*names, *_FITTED_ARRAYS)
    if sorted(arrays) != sorted(expected):
        raise ModelFileError(f"it holds the arrays {sorted(arrays)}, not {sorted(expected)}")
    if header["version"] == 1:
        header = header | {"theta_interval": None}
    estimator = make(header)
    restore_classifier(estimator, header)
    n_features = estimator.n_features_in_
    if categories is not None and len(categories.columns) != n_features:
        raise ModelFileError("the categories do not match the features")
    estimator._categories = categories
    _check_shapes(arrays, shapes, has_explored, len(estimator.classes_), n_features)
    ratio = float(header["ratio"])
    explored: ForestArrays | None = None
    own = categories if has_sets else None
    if has_explored:
        explored = _rebuild_forest(arrays, _EXPLORED, ratio, n_features, own)
    forest = _rebuild_forest(arrays, "", 0.0 if has_explored else ratio, n_features, own)
    scoring = forest if explored is None else explored
    if estimator.new_class_index_ is not None and not (scoring.n_explored >= 1).all():
        raise ModelFileError("a tree has no node of Step I, which scores of new rows need")
    if (estimator.theta_ is None) != (estimator.new_class_index_ is None):
        raise ModelFileError("theta is invalid: a forest has it if and only if it has a new class")
    n_labeled = header["n_labeled"]
    if not 0 < float(n_labeled) < np.inf:
        raise ModelFileError("the number of labelled rows is invalid")
    fitted = {name: arrays[name] for name in _FITTED_ARRAYS}
    _check_training_facts(**fitted)
    estimator.n_labeled_ = float(n_labeled)
    newest = header["version"] > _TWO_FORESTS
    restore_deployment(estimator, header["deployment"] if newest else None)
    if header["version"] == _NO_CATEGORIES or header.get("adaptation") is not None:
        restore_adaptation(estimator, header["adaptation"])
    for name, array in fitted.items():
        setattr(estimator, name, array)
    estimator._forest = forest
    estimator._explored = explored
    return estimator


def _check_shapes(
    arrays: StoredArrays,
    shapes: dict[str, tuple[str | int, ...]],
    has_explored: bool,
    n_classes: int,
    n_features: int,
) -> None:
    """Compare the shapes of all arrays before the first one is read."""
    shared = {"classes": n_classes, "features": n_features}
    for prefix in ("", _EXPLORED) if has_explored else ("",):
        own = dict(shared)
        for name, shape in shapes.items():
            dtype = np.uint8 if name.startswith(_PACKED) else None
            arrays.check_shape(prefix + name, shape, own, dtype)
    for name, size in _FITTED_SIZES.items():
        arrays.check_shape(name, (size,), shared, _FITTED_ARRAYS[name])


def _rebuild_forest(
    arrays: StoredArrays,
    prefix: str,
    ratio: float,
    n_features: int,
    categories: TableCategories | None,
) -> ForestArrays:
    sets = None
    if categories is not None:
        is_categorical = np.array(categories.n_categories) > 0
        own = {name: arrays[prefix + _SETS + name] for name in _SET_ARRAYS}
        if own["words"].dtype != np.uint64 or own["tree_start"].dtype != np.int64:
            raise ModelFileError("its sets of categories are of another type")
        sets = CategorySets(is_categorical, **own)
    stored = {name: arrays[prefix + name] for name in _FOREST_ARRAYS if prefix + name in arrays}
    if "nodes" not in stored:
        columns = {name: arrays[prefix + _PACKED + name] for name in PACKED_ARRAYS}
        stored["nodes"] = unpack_nodes(columns, stored["tree_start"])
    forest = ForestArrays(
        **stored,
        ratio=ratio,
        n_features=n_features,
        sets=sets,
    )
    forest.validate()
    if categories is not None:
        check_members(forest, categories.n_categories)
    return forest


def _check_training_facts(
    pseudo_labels_: NDArray[np.bool_],
    unlabeled_score_: NDArray[np.float64],
    feature_importances_: NDArray[np.float64],
) -> None:
    if (pseudo_labels_.view(np.uint8) > 1).any():
        raise ModelFileError("a pseudo-label is neither true nor false")
    if not ((unlabeled_score_ >= 0) & (unlabeled_score_ <= 1)).all():
        raise ModelFileError("the score of an unlabelled row is not in [0, 1]")
    if not ((feature_importances_ >= 0) & (feature_importances_ < np.inf)).all():
        raise ModelFileError("the importance of a feature is negative or not finite")
