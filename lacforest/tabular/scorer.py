"""Scores of tables by a fitted forest, without scikit-learn."""

from __future__ import annotations

import os
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import NDArray

from lacforest._model.container import ModelFileError, naming_the_file
from lacforest._model.forest_files import read_attachment
from lacforest._model.frozen import FrozenForest
from lacforest._utils.extras import load_extra
from lacforest.tabular._coder import TableCoder
from lacforest.tabular._plain_forests import coder_of
from lacforest.tabular.errors import TableError, listed
from lacforest.tabular.fitted_rows import FittedRows
from lacforest.tabular.kinds import Kind
from lacforest.tabular.places import Place, TableLike
from lacforest.tabular.reading import iter_table, places_of

if TYPE_CHECKING:
    from lacforest.calibration import NoveltyCalibrator

PREDICTED, NOVELTY = "predicted_label", "novelty_score"
# The classes that model files of tables may name; `lacforest.ensemble` has them.
_CLASSES = ("LACExtraTreesClassifier", "LACForestClassifier")
# What a file tells of a model beside its forest, and a scorer needs.
_OF_SCORERS = {"table", "target", "lacforest", "fitted_rows"}


class TableScorer:
    """A fitted forest and the coder of its columns; `TabularModel` adds their fit.

    Parameters
    ----------
    forest : FrozenForest or estimator
    coder : TableCoder

    Attributes
    ----------
    forest, coder
        As given.
    target, version, notes
        As in `TabularModel`.
    fitted_rows : FittedRows or None
        What is known about the unlabelled rows of the fit; None if nothing is.
    """

    calibrator: NoveltyCalibrator | None = None
    fitted_rows: FittedRows | None = None

    def __init__(self, forest: Any, coder: TableCoder) -> None:
        self.forest = forest
        self.coder = coder
        self.target: str | None = None
        self.version: str | None = None
        self.notes: list[str] = []

    def predict(
        self,
        frame: Any,
        unseen: dict[str, tuple[int, str]] | None = None,
        source: str = "the table",
    ) -> Any:
        """Label, novelty score and probabilities of each row.

        Parameters
        ----------
        frame : pandas.DataFrame
            The columns of the fit in any order; others are ignored.
        unseen : dict, optional
            Counts texts that are not among the categories, as in `TableCoder.encode`.
        source : str
            Name of the frame in messages.

        Returns
        -------
        pandas.DataFrame
            ``predicted_label``; ``novelty_score``, the probability of the new class; and
            one column ``probability_...`` per known class. The score and the probabilities of a
            row sum to one. A forest that was fitted without unlabelled rows gives no score.
        """
        self._require_fit()
        return self.predict_coded(self.coder.encode(frame, unseen, source), frame.index)

    @property
    def output_columns(self) -> list[str]:
        """The columns that `predict` returns."""
        forest = self.forest
        novelty = [] if forest.new_class_index_ is None else [NOVELTY]
        return [PREDICTED, *novelty, *(f"probability_{label}" for label in forest.known_classes_)]

    def predict_coded(self, X: NDArray[np.float64], index: Any) -> Any:
        """Like `predict`, for rows in the codes of `coder`.

        Parameters
        ----------
        X : ndarray of shape (n_rows, n_features)
            From `coder.encode`.
        index : pandas.Index
            Of the result.

        Returns
        -------
        pandas.DataFrame
            As `predict` returns it.
        """
        forest, probabilities = self.forest, self._probabilities(X)
        new = forest.new_class_index_
        known = [place for place in range(len(forest.classes_)) if place != new]
        order = known if new is None else [new, *known]
        values = [
            forest.classes_[probabilities.argmax(axis=1)],
            *(probabilities[:, column] for column in order),
        ]
        pandas = load_extra("pandas")
        return pandas.DataFrame(dict(zip(self.output_columns, values, strict=True)), index=index)

    def _require_fit(self) -> None:
        """Raise if the forest is not fitted; one from a file is."""

    def _probabilities(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        found: NDArray[np.float64] = self.forest.predict_proba(X)
        return found

    def iter_file(
        self,
        table: TableLike | Place,
        *,
        keep: Collection[str] = (),
        chunk_rows: int = 100_000,
        encoding: str = "utf-8",
    ) -> Iterator[Any]:
        """Read the columns of the model from a table, in pieces that `predict` accepts.

        Parameters
        ----------
        table : str or path-like
            As in `read_table`, but a single table.
        keep : collection of str
            Additional columns to read; from a CSV file they are read as text.
        chunk_rows : int, default=100_000
            Number of rows per piece.
        encoding : str, default="utf-8"
            Encoding of a CSV file.

        Yields
        ------
        pandas.DataFrame
        """
        (place,) = places_of(table)
        # With a decimal comma, the text of a number is none to the coder.
        own = self.coder.kinds
        kinds: dict[str, Kind] = dict(own)
        for name in keep:
            if place.decimal == "." or own.get(name) != "number":
                kinds[name] = "text"
        return iter_table(
            place, kinds, chunk_rows=chunk_rows, missing=self.coder.missing, encoding=encoding
        )

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a model written by `save`.

        A file written by the `save` of a forest has no column coding. The model then accepts only
        numbers, as its `notes` say.
        """
        name, attachment = read_attachment(path)
        if name not in _CLASSES:
            raise ModelFileError(
                f"{Path(path)} cannot be loaded: it contains a {name}, not a forest"
            )
        forest = cls._load_forest(path, name)
        if attachment is None or "table" not in attachment:
            model = cls(forest, coder_of(forest))
            model.version = None
            texts = [name for name, kind in model.coder.kinds.items() if kind == "text"]
            but = f", but for text in {listed(texts)}" if texts else ""
            model.notes = [
                f"{Path(path)} was saved without a column coding: it accepts only numbers, in the "
                f"columns {listed(model.coder.feature_names)}{but}"
            ]
            return model
        try:
            model = cls(forest, TableCoder.from_dict(attachment["table"]))
        except TableError as error:
            raise ModelFileError(f"{Path(path)} cannot be loaded: {error}") from error
        target, version = attachment.get("target"), attachment.get("lacforest")
        if not (isinstance(target, str | None) and isinstance(version, str)):
            raise ModelFileError(f"{Path(path)} cannot be loaded: it has no target or version")
        if len(model.coder.feature_names) != forest.n_features_in_:
            raise ModelFileError(
                f"{Path(path)} cannot be loaded: its column coding has "
                f"{len(model.coder.feature_names)} features, but its trees {forest.n_features_in_}"
            )
        model.target, model.version = target, version
        model._attach(attachment, path)
        return model

    @classmethod
    def _load_forest(cls, path: str | os.PathLike[str], name: str) -> Any:
        return FrozenForest.load(path, name)

    def _attach(self, attachment: dict[str, Any], path: str | os.PathLike[str]) -> None:
        """Take over what else the file holds."""
        if "fitted_rows" in attachment:
            with naming_the_file(path):
                self.fitted_rows = FittedRows.from_dict(attachment["fitted_rows"])


def load_scorer(path: str | os.PathLike[str]) -> TableScorer:
    """The model of a file, without scikit-learn where its forest and coder are all there is.

    Parameters
    ----------
    path : str or path-like

    Returns
    -------
    TableScorer
        A `TabularModel` if the file holds calibration rows, by which it predicts, or groups.
    """
    attachment = read_attachment(path)[1]
    if attachment is None or attachment.keys() <= _OF_SCORERS:
        return TableScorer.load(path)
    from lacforest.tabular._model import TabularModel

    return TabularModel.load(path)
