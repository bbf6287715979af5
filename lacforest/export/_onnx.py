"""Export to ONNX, for prediction without Python."""

from __future__ import annotations

from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from lacforest._model.arrays import split_features
from lacforest._model.tree_view import TreeViews, find_all_of_forest
from lacforest._utils.extras import load_extra
from lacforest._utils.version import __version__
from lacforest.export._onnx_sets import exported_categories, signs_of_columns, split_by_members

# The lowest versions with these operators: runtimes from 2022 on can read the file.
_OPSET, _ML_OPSET, _IR_VERSION = 18, 3, 8


def to_onnx(forest: Any, *, input_type: Literal["float32", "float64"] = "float32") -> Any:
    """Convert a forest to an ONNX model.

    The model has one input, ``X`` of shape (n_rows, n_features), and these outputs:

    - ``label``: the labels of ``predict``, as int64 (uint64 where one is larger), text or another
      type of labels;
    - ``probabilities``: float32, with the columns of ``classes_``, the new class included;
    - ``novelty_score``: float32, the column of the new class. Absent if the forest was fitted
      without unlabelled rows.

    NaN means missing, as in ``predict``. Columns of numbers as categories hold these numbers, and
    columns of text as categories hold the place of the text in the forest's ``categories_``,
    counted from 0. Any other number is a category that the fit has not seen.

    Parameters
    ----------
    forest : LACForestClassifier or LACExtraTreesClassifier
        Fitted. Not a pipeline: earlier steps would not be part of the model.
    input_type : {"float32", "float64"}, default="float32"
        Type of the input. "float32" uses operators that every runtime has. Thresholds, which are
        float64 in the forest, are rounded down to float32, so that each float32 value takes the
        same branch as in the forest. A float64 value that is cast to float32 before prediction may
        cross a close threshold. "float64" keeps the thresholds and accepts float64 values;
        onnxruntime supports it, small runtimes may not.

    Returns
    -------
    onnx.ModelProto
        Write it with ``onnx.save(model, path)``. Its metadata contain "new_label", "theta" and the
        version of lacforest.

    Notes
    -----
    A set of categories becomes one comparison per category, so that sets of thousands of categories
    make large models.

    Every row reaches the same leaves as in the forest. Their distributions are added in float32 (or
    in float64, rounded to float32 at the end), so probabilities agree to about 1e-7. If the
    probabilities of two classes are that close, ``label`` may differ; exact ties go to the first
    class in ``classes_``, as in ``predict``.

    Requires the package onnx, which the extra ``[onnx]`` installs.

    Examples
    --------
    >>> from lacforest import LACForestClassifier
    >>> from lacforest.datasets import make_figure1
    >>> from lacforest.export import to_onnx
    >>> toy = make_figure1(random_state=0)
    >>> forest = LACForestClassifier(10, theta=0.5, random_state=0)
    >>> forest = forest.fit(toy.X_labeled, toy.y_labeled, X_unlabeled=toy.X_unlabeled)
    >>> model = to_onnx(forest)
    >>> [output.name for output in model.graph.output]
    ['label', 'probabilities', 'novelty_score']

    With onnxruntime installed:

    >>> import onnxruntime  # doctest: +SKIP
    >>> session = onnxruntime.InferenceSession(model.SerializeToString())  # doctest: +SKIP
    >>> rows = toy.X_unlabeled.astype("float32")  # doctest: +SKIP
    >>> label, probabilities, novelty = session.run(None, {"X": rows})  # doctest: +SKIP
    """
    if input_type not in ("float32", "float64"):
        raise ValueError(f'input_type must be "float32" or "float64", got {input_type!r}')
    trees = find_all_of_forest(forest)
    onnx = load_extra("onnx", "onnx")
    helper, types = onnx.helper, onnx.TensorProto
    labels = _label_tensor(onnx, forest.classes_)
    n_classes = len(forest.classes_)
    element = types.FLOAT if input_type == "float32" else types.DOUBLE
    constants = [labels, helper.make_tensor("by_row", types.INT64, [1], [1])]
    nodes, table = [], "X"
    if trees.arrays.sets is not None:
        signs = signs_of_columns(forest).astype(input_type)
        constants.append(onnx.numpy_helper.from_array(signs, "signs"))
        nodes.append(helper.make_node("Mul", ["X", "signs"], ["signed"]))
        table = "signed"
    nodes += [
        helper.make_node(
            "TreeEnsembleRegressor",
            [table],
            ["sums"],
            domain="ai.onnx.ml",
            **_ensemble(onnx, forest, trees, input_type),
        ),
        helper.make_node("ReduceSum", ["sums", "by_row"], ["totals"], keepdims=1),
        helper.make_node("Div", ["sums", "totals"], ["probabilities"]),
        helper.make_node("ArgMax", ["sums"], ["best"], axis=1, keepdims=0),
        helper.make_node("Gather", ["labels", "best"], ["label"]),
    ]
    outputs = [
        helper.make_tensor_value_info("label", labels.data_type, ["n_rows"]),
        helper.make_tensor_value_info("probabilities", types.FLOAT, ["n_rows", n_classes]),
    ]
    metadata = {"lacforest": __version__}
    if forest.new_class_index_ is not None:
        column = helper.make_tensor("new_column", types.INT64, [], [forest.new_class_index_])
        constants.append(column)
        nodes.append(
            helper.make_node("Gather", ["probabilities", "new_column"], ["novelty_score"], axis=1)
        )
        outputs.append(helper.make_tensor_value_info("novelty_score", types.FLOAT, ["n_rows"]))
        metadata |= {"new_label": str(forest.new_label_), "theta": repr(float(forest.theta_))}
    rows = helper.make_tensor_value_info("X", element, ["n_rows", trees.arrays.n_features])
    graph = helper.make_graph(nodes, "lacforest", [rows], outputs, constants)
    model = helper.make_model(
        graph,
        opset_imports=[
            helper.make_opsetid("", _OPSET),
            helper.make_opsetid("ai.onnx.ml", _ML_OPSET),
        ],
        ir_version=_IR_VERSION,
        producer_name="lacforest",
        producer_version=__version__,
    )
    helper.set_model_props(model, metadata)
    onnx.checker.check_model(model)
    return model


def _label_tensor(onnx: Any, classes: NDArray[Any]) -> Any:
    """The labels of `classes_` in a type that ONNX supports."""
    if classes.dtype.kind in "UO":
        if not all(isinstance(label, str) for label in classes.tolist()):
            raise TypeError(
                "ONNX has no type for labels of different types: fit on labels that are all text, "
                f"all numbers or all booleans; these are {classes.tolist()}"
            )
        text = [label.encode() for label in classes.tolist()]
        return onnx.helper.make_tensor("labels", onnx.TensorProto.STRING, [len(text)], text)
    if classes.dtype.kind not in "iufb":
        raise TypeError(
            f"ONNX has no type for labels of type {classes.dtype}: fit on text, numbers or "
            "booleans, for instance on y.astype(str)"
        )
    if classes.dtype.kind in "iu":
        if classes[-1] <= np.iinfo(np.int64).max:  # else uint64, as classes are sorted
            classes = classes.astype(np.int64)
    elif classes.dtype.kind == "f":
        classes = classes.astype(np.float64)
    return onnx.numpy_helper.from_array(np.ascontiguousarray(classes), "labels")


def _ensemble(onnx: Any, forest: Any, trees: TreeViews, input_type: str) -> dict[str, Any]:
    """Attributes of a TreeEnsembleRegressor that sums the class distributions of leaves."""
    arrays = trees.arrays
    sizes = np.diff(arrays.tree_start)
    tree = np.repeat(np.arange(arrays.n_trees), sizes)
    node = np.arange(len(arrays.nodes)) - arrays.tree_start[tree]
    left = arrays.nodes["left"].astype(np.int64)
    inner = left >= 0
    feature = arrays.nodes["feature"]
    shares = arrays.leaf_values[:, trees.column_order]
    leaves = np.flatnonzero(~inner)
    leaf, target = np.nonzero(shares[~left[leaves]])
    thresholds = np.where(inner, arrays.nodes["threshold"], 0.0)
    columns: dict[str, NDArray[Any]] = {
        "nodes_treeids": tree,
        "nodes_nodeids": node,
        "nodes_modes": np.where(inner, "BRANCH_LEQ", "LEAF"),
        "nodes_featureids": np.where(inner, split_features(feature), 0),
        "nodes_truenodeids": np.where(inner, left, 0),
        "nodes_falsenodeids": np.where(inner, left + 1, 0),
        "nodes_missing_value_tracks_true": (inner & (feature >= 0)).astype(np.int64),
        "nodes_values": thresholds if input_type == "float64" else round_down(thresholds),
    }
    if arrays.sets is not None:
        categories = exported_categories(forest, input_type)
        columns = split_by_members(columns, arrays, arrays.sets, categories)
    columns |= {
        "target_treeids": tree[leaves[leaf]],
        "target_nodeids": node[leaves[leaf]],
        "target_ids": target,
        "target_weights": shares[~left[leaves[leaf]], target].astype(input_type),
    }
    attributes: dict[str, Any] = {"n_targets": arrays.n_classes}
    for name, column in columns.items():
        if column.dtype == np.float64:
            attributes[f"{name}_as_tensor"] = onnx.numpy_helper.from_array(column, name)
        else:
            attributes[name] = column.tolist()
    return attributes


def round_down(thresholds: NDArray[np.float64]) -> NDArray[np.float32]:
    """The largest float32 at or below each threshold.

    A float32 value is at or below it if and only if it is at or below the threshold, so every row
    of float32 values takes the same path. (Rounding to nearest could move the threshold above a
    value.)
    """
    with np.errstate(over="ignore"):
        nearest = thresholds.astype(np.float32)
    above = nearest.astype(np.float64) > thresholds
    nearest[above] = np.nextafter(nearest[above], np.float32(-np.inf))
    return nearest
