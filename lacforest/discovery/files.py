"""Groups as part of model files: the space and the names, not the rows."""

from __future__ import annotations

from typing import Any

import numpy as np

from lacforest._model.container import ModelFileError
from lacforest._model.values import decode_array, decode_labels, encode_array, encode_labels
from lacforest.discovery._description import ColumnSummary
from lacforest.discovery._groups import NewClassGroups
from lacforest.discovery._merging import merge_groups
from lacforest.discovery._naming import NamedCentroids
from lacforest.discovery._whitening import ColumnSteps, Whitening, check_distances


def encode_groups(groups: NewClassGroups) -> dict[str, Any]:
    """Groups as JSON, without the rows of the latest batch."""
    whitening, known, stored = groups._whitening, groups._known_columns, groups._stored
    steps = whitening.steps
    return {
        "steps": None
        if steps is None
        else [encode_array(steps.values), encode_array(steps.heights)],
        "fill": encode_array(whitening.fill),
        "matrix": encode_array(whitening.matrix),
        "class_means": encode_array(whitening.class_means),
        "known_mean": encode_array(known.mean),
        "known_deviation": encode_array(known.deviation),
        "known_classes": encode_labels(groups.known_classes_),
        "gap": groups.gap_,
        "names": list(stored.names),
        "centroids": encode_array(np.array(stored.centroids)),
        "reaches": encode_array(np.array(stored.reaches)),
        "labels": {name: str(label) for name, label in stored.labels.items()},
    }


def decode_groups(stored: Any, n_features: int) -> NewClassGroups:
    """Groups that `update` can continue; raises ModelFileError where the content is invalid."""
    if not isinstance(stored, dict):
        raise ModelFileError("its groups are not a JSON object")

    def read(name: str, ndim: int = 1) -> Any:
        return decode_array(stored.get(name), name, np.float64, ndim)

    groups = NewClassGroups()
    groups.n_features_in_ = n_features
    groups.known_classes_ = decode_labels(stored.get("known_classes"), "known_classes")
    groups._whitening = Whitening(
        read("fill"),
        read("matrix", 2),
        read("class_means", 2),
        _decode_steps(stored.get("steps"), n_features),
    )
    groups._known_columns = ColumnSummary(read("known_mean"), read("known_deviation"))
    centroids, reaches = read("centroids", 2), read("reaches")
    names, gap, labels = stored.get("names"), stored.get("gap"), stored.get("labels")
    shapes = (
        (groups._whitening.fill, (n_features,)),
        (groups._whitening.matrix, (n_features, n_features)),
        (groups._whitening.class_means, (len(groups.known_classes_), n_features)),
        (groups._known_columns.mean, (n_features,)),
        (groups._known_columns.deviation, (n_features,)),
    )
    if any(array.shape != shape for array, shape in shapes):
        raise ModelFileError("the groups do not match the features")
    if not groups._whitening.is_bounded():
        raise ModelFileError("the groups hold numbers too large for distances between rows")
    check_distances(centroids, "centroids")
    if (groups._known_columns.deviation < 0).any() or (reaches < 0).any():
        raise ModelFileError("a deviation or a reach of the groups is negative")
    if (
        not isinstance(names, list)
        or not names
        or not all(isinstance(name, str) for name in names)
        or len(set(names)) != len(names)
    ):
        raise ModelFileError("the names of groups are not a list of different texts")
    if centroids.shape != (len(names), n_features) or reaches.shape != (len(names),):
        raise ModelFileError("the groups do not have one centroid and one reach per name")
    if not isinstance(gap, int | float) or not 0 < gap < np.inf:
        raise ModelFileError("the groups have no valid gap")
    if (
        not isinstance(labels, dict)
        or not set(labels) <= set(names)
        or not all(isinstance(label, str) for label in labels.values())
    ):
        raise ModelFileError("labels of promoted groups do not belong to groups")
    groups.gap_ = float(gap)
    groups._names = [f"feature_{i}" for i in range(n_features)]
    groups._stored = NamedCentroids(names, list(centroids), reaches.tolist(), labels)
    _show_stored(groups)
    return groups


def _decode_steps(stored: Any, n_features: int) -> ColumnSteps | None:
    """Steps of columns; files of older versions have none."""
    if stored is None:
        return None
    if not isinstance(stored, list) or len(stored) != 2:
        raise ModelFileError("the steps of columns are not values and heights")
    values, heights = (decode_array(each, "steps", np.float64, 2) for each in stored)
    if values.shape != heights.shape or len(values) != n_features or values.shape[1] == 0:
        raise ModelFileError("the steps of columns do not match the features")
    if (np.diff(values) < 0).any() or (np.diff(heights) < 0).any():
        raise ModelFileError("the steps of columns do not ascend")
    return ColumnSteps(values, heights)


def _show_stored(groups: NewClassGroups) -> None:
    """Attributes of groups that come from a file: all stored groups, without rows."""
    groups.group_names_ = list(groups._stored.names)
    groups.centroids_ = np.array(groups._stored.centroids)
    groups.group_sizes_ = np.zeros(len(groups.group_names_), dtype=np.intp)
    groups.labels_ = np.zeros(0, dtype=np.intp)
    groups.medoids_ = np.zeros(0, dtype=np.intp)
    groups.center_distances_ = np.zeros(0)
    groups.nearest_rows_ = []
    groups.merge_tree_ = merge_groups(groups.centroids_, np.ones_like(groups.group_sizes_))
    groups._rows = np.zeros((0, groups.n_features_in_))
