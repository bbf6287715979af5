"""Whole tables in memory, coded as a model sees them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacforest._utils.extras import load_extra
from lacforest.cli._console import Console
from lacforest.tabular import TableError, TabularModel, read_table
from lacforest.tabular.labels import whole_numbers
from lacforest.tabular.places import Place, joint_name


def load_model(console: Console, given: argparse.Namespace) -> TabularModel:
    """The model of a command, which must have a new class."""
    with console.activity(f"reading {given.model}"):
        model = TabularModel.load(given.model)
    if model.forest.new_class_index_ is None:
        raise TableError(f"{given.model} was fitted without unlabelled rows and has no new class")
    model.forest.set_params(n_jobs=given.jobs)
    return model


def read_batch(
    console: Console,
    given: argparse.Namespace,
    model: TabularModel,
    places: Sequence[Place],
    keep: Sequence[str] = (),
) -> tuple[Any, NDArray[np.float64]]:
    """Tables that are joined, as a frame and in codes."""
    source = joint_name(places)
    with console.activity(f"reading {source}"):
        pieces = [
            piece
            for place in places
            for piece in model.iter_file(place, keep=keep, encoding=given.encoding)
        ]
    frame = load_extra("pandas").concat(pieces, ignore_index=True)
    if not len(frame):
        raise TableError(f"{source} has no rows")
    return frame, model.coder.encode(frame, source=source)


def read_labelled(
    console: Console, given: argparse.Namespace, model: TabularModel, places: Sequence[Place]
) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """Labelled rows of a fit in codes, and their labels; rows without one are left out."""
    source = joint_name(places)
    with console.activity(f"reading {source}"):
        frame = read_table(places, missing=model.coder.missing, encoding=given.encoding)
    return code_labelled(model, frame, source)


def code_labelled(
    model: TabularModel, frame: Any, source: str
) -> tuple[NDArray[np.float64], NDArray[Any]]:
    """A frame of labelled rows in codes, and their labels; rows without one are left out."""
    target = model.target
    if target is None or target not in frame.columns:
        raise TableError(f"{source} has no column {target!r} of labels")
    frame = frame[frame[target].notna()]
    return model.coder.encode(frame, source=source), labels_of(model, frame, target, source)


def labels_of(model: TabularModel, frame: Any, column: str, source: str) -> NDArray[Any]:
    """A column of labels, converted to the type of the known classes."""
    values = frame[column]
    if values.isna().any():
        row = int(values.isna().to_numpy().argmax()) + 1
        raise TableError(f"{source} has no value in column {column!r} of row {row}")
    if model.forest.known_classes_.dtype.kind not in "iu":
        labels: NDArray[Any] = values.astype(str).to_numpy(dtype=object)
        return labels
    try:
        numbers = load_extra("pandas").to_numeric(values)
    except (TypeError, ValueError):
        raise TableError(
            f"column {column!r} of {source} contains text, but the classes of the model are numbers"
        ) from None
    return whole_numbers(numbers, column, source)
