"""A forest for tables: the coding of columns and the trees in one file."""

from __future__ import annotations

import copy
import os
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from lacforest import LACExtraTreesClassifier, LACForestClassifier, __version__
from lacforest._base_forest import BaseLACForest
from lacforest._persistence import ModelFileError, read_attachment, save_forest
from lacforest.tabular._coder import TableCoder, UnseenValues
from lacforest.tabular._columns import is_plain
from lacforest.tabular._csv import Kind
from lacforest.tabular._errors import TableError, listed, load_extra
from lacforest.tabular._reading import iter_table

PREDICTED, NOVELTY = "predicted_label", "novelty_score"


def check_labels(frame: Any, target: str, source: str) -> NDArray[Any]:
    """The labels of a frame: whole numbers, or text.

    Parameters
    ----------
    frame : pandas.DataFrame
    target : str
        The column of labels.
    source : str
        What messages call the frame.
    """
    if target not in frame.columns:
        raise TableError(f"{source} has no column {target!r}; it has {listed(frame.columns)}")
    values = frame[target]
    empty = np.flatnonzero(values.isna())
    if len(empty):
        raise TableError(
            f"{source} has no label in {len(empty)} rows (first: row {empty[0] + 1}): move them to "
            "the unlabelled rows, or label them"
        )
    n_classes = values.nunique()
    if n_classes == 1:
        raise TableError(
            f"column {target!r} of {source} holds a single class, {values.iloc[0]!r}: labelled "
            "rows of two classes are the least"
        )
    if 2 * n_classes > len(values):
        raise TableError(
            f"column {target!r} of {source} holds {n_classes} different values in {len(values)} "
            "rows: it looks like an id or a measurement, not like classes"
        )
    types = load_extra("pandas").api.types
    if not is_plain(values) or types.is_bool_dtype(values):
        return np.array([str(value) for value in values], dtype=object)
    numbers = values.to_numpy()
    if not np.isfinite(numbers).all() or (numbers != np.floor(numbers)).any():
        raise TableError(
            f"column {target!r} of {source} holds numbers that are not whole, like {values.max()}: "
            "classes are whole numbers or text"
        )
    labels: NDArray[Any] = numbers.astype(np.int64)
    return labels


class CodedTables(NamedTuple):
    """Two tables as `LACForestClassifier.fit` takes them."""

    X: NDArray[np.float64]
    y: NDArray[Any]
    X_unlabeled: NDArray[np.float64]


def code_tables(
    coder: TableCoder, frame: Any, target: str, unlabeled: Any, sources: tuple[str, str]
) -> CodedTables:
    """Fit the coder on labelled and unlabelled rows and code them; see `TabularModel.fit`."""
    y = check_labels(frame, target, sources[0])
    if len(unlabeled) < 2:
        raise TableError(
            f"{sources[1]} has {len(unlabeled)} unlabelled rows, and two are the least"
        )
    coder.fit(frame, unlabeled, target, sources)
    X = coder.encode(frame, source=sources[0])
    return CodedTables(X, y, coder.encode(unlabeled, source=sources[1]))


_FORESTS: dict[str, type[BaseLACForest]] = {
    cls.__name__: cls for cls in (LACForestClassifier, LACExtraTreesClassifier)
}


class TabularModel:
    """A forest that takes tables as they come from files.

    Parameters
    ----------
    forest : LACForestClassifier or LACExtraTreesClassifier, optional
        The forest to fit, with its parameters.
    coder : TableCoder, optional
        How to code columns.

    Attributes
    ----------
    forest, coder
        As given; fitted by `fit`.
    target : str or None
        The column of labels, None if the model was not fitted on a table.
    version : str or None
        The lacforest that fitted the model, None if a file does not say.
    notes : list of str
        What the user should know about the columns.

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from lacforest import LACForestClassifier
    >>> from lacforest.tabular import TabularModel
    >>> wine = load_wine(as_frame=True).frame
    >>> labelled, deployed = wine[wine.target < 2][::2], wine[1::2].drop(columns="target")
    >>> model = TabularModel(LACForestClassifier(theta=0.3, random_state=0))
    >>> scored = model.fit(labelled, "target", deployed).predict(deployed)
    >>> list(scored.columns)
    ['predicted_label', 'novelty_score', 'probability_0', 'probability_1']
    >>> scored["predicted_label"].tolist()[-3:]
    [-1, -1, -1]
    """

    def __init__(
        self, forest: BaseLACForest | None = None, coder: TableCoder | None = None
    ) -> None:
        self.forest: BaseLACForest = LACForestClassifier() if forest is None else forest
        self.coder = TableCoder() if coder is None else coder
        self.target: str | None = None
        self.version: str | None = __version__
        self.notes: list[str] = []

    def fit(
        self,
        frame: Any,
        target: str,
        unlabeled: Any,
        sources: tuple[str, str] = ("the labelled table", "the unlabelled table"),
    ) -> Self:
        """Code both tables and grow the forest.

        Parameters
        ----------
        frame : pandas.DataFrame
            Labelled rows, the label among their columns.
        target : str
            The column of labels.
        unlabeled : pandas.DataFrame
            Unlabelled rows from deployment.
        sources : tuple of str
            What messages call the two, for instance their files.

        Returns
        -------
        self
        """
        coder = copy.copy(self.coder)  # the old one stays if the fit fails
        tables = code_tables(coder, frame, target, unlabeled, sources)
        self.forest.fit(tables.X, tables.y, X_unlabeled=tables.X_unlabeled)
        self.coder, self.target, self.notes = coder, target, coder.notes_
        self.version = __version__
        return self

    def predict(
        self, frame: Any, unseen: UnseenValues | None = None, source: str = "the table"
    ) -> Any:
        """Label, novelty score and probabilities of every row.

        Parameters
        ----------
        frame : pandas.DataFrame
            The columns of the fit in any order; others are left aside.
        unseen : UnseenValues, optional
            Counts texts that the fit did not meet.
        source : str
            What messages call the frame.

        Returns
        -------
        pandas.DataFrame
            ``predicted_label``; ``novelty_score``, the probability of the new class; and
            ``probability_`` of every known class. Score and probabilities of a row sum to one. A
            forest fitted without unlabelled rows knows no new class and gives no score.
        """
        pandas = load_extra("pandas")
        forest = self.forest
        check_is_fitted(forest)
        X: Any = self.coder.encode(frame, unseen, source)
        if hasattr(forest, "feature_names_in_"):  # fitted on a frame, and wants one again
            X = pandas.DataFrame(X, columns=self.coder.feature_names)
        probabilities, new = forest.predict_proba(X), forest.new_class_index_
        found = {PREDICTED: forest.classes_[probabilities.argmax(axis=1)]}
        if new is not None:
            found[NOVELTY] = probabilities[:, new]
        for index, label in enumerate(forest.classes_):
            if index != new:
                found[f"probability_{label}"] = probabilities[:, index]
        return pandas.DataFrame(found, index=frame.index)

    def iter_file(
        self,
        path: str | os.PathLike[str],
        *,
        keep: Collection[str] = (),
        chunk_rows: int = 100_000,
        encoding: str = "utf-8",
    ) -> Iterator[Any]:
        """The columns of the model in a file, piece by piece, ready for `predict`.

        Parameters
        ----------
        path : str or path-like
        keep : collection of str
            Columns to read as well, from a CSV as text.
        chunk_rows : int, default=100_000
            Rows of a piece.
        encoding : str, default="utf-8"
            Encoding of a CSV.

        Yields
        ------
        pandas.DataFrame
        """
        kinds: dict[str, Kind] = self.coder.kinds | dict.fromkeys(keep, "text")
        return iter_table(
            path, kinds, chunk_rows=chunk_rows, missing=self.coder.missing, encoding=encoding
        )

    # ------------------------------------------------------------------ files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write forest and coding to one file; an old file is replaced whole.

        The `load` of the forest's class reads it as well, and gets the forest alone.
        """
        check_is_fitted(self.forest)
        attachment = {
            "table": self.coder.to_dict(),
            "target": self.target,
            "lacforest": __version__,
        }
        save_forest(self.forest, path, compress=True, attachment=attachment)

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model written by `save`.

        A file that the `save` of a forest wrote holds no coding: the model takes numbers only
        then, which its `notes` say.
        """
        name, attachment = read_attachment(path)
        if name not in _FORESTS:
            raise ModelFileError(f"{Path(path)} cannot be loaded: it holds a {name}, not a forest")
        forest = _FORESTS[name].load(path)
        if attachment is None or "table" not in attachment:
            model = cls(forest, TableCoder.of_numbers(_names_of(forest)))
            model.version = None
            model.notes = [
                f"{Path(path)} was saved without a coding of columns: it takes numbers only, in "
                f"the columns {listed(model.coder.feature_names)}"
            ]
            return model
        try:
            model = cls(forest, TableCoder.from_dict(attachment["table"]))
        except TableError as error:
            raise ModelFileError(f"{Path(path)} cannot be loaded: {error}") from error
        target, version = attachment.get("target"), attachment.get("lacforest")
        if not (isinstance(target, str) and isinstance(version, str)):
            raise ModelFileError(f"{Path(path)} cannot be loaded: it names no target or version")
        if len(model.coder.feature_names) != forest.n_features_in_:
            raise ModelFileError(
                f"{Path(path)} cannot be loaded: its coding of columns makes "
                f"{len(model.coder.feature_names)} features, its trees use {forest.n_features_in_}"
            )
        model.target, model.version = target, version
        return model


def _names_of(forest: BaseLACForest) -> list[str]:
    """Names of features; X0, X1 and so on, as in an NPZ file, if the forest has none."""
    names = getattr(forest, "feature_names_in_", None)
    if names is None:
        return [f"X{i}" for i in range(forest.n_features_in_)]
    return [str(name) for name in names]
