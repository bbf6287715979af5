"""A forest for tables, which saves the column coding and the trees in one file."""

from __future__ import annotations

import copy
import os
from collections.abc import Sequence
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from lacforest import ensemble
from lacforest._input.parameters import check_int
from lacforest._model.container import naming_the_file
from lacforest._model.forest_files import save_forest
from lacforest._utils.extras import load_extra
from lacforest._utils.version import __version__
from lacforest.calibration import NoveltyCalibrator
from lacforest.calibration.files import decode_calibrator, encode_calibrator
from lacforest.discovery import NewClassGroups
from lacforest.discovery.files import decode_groups, encode_groups
from lacforest.ensemble import LACForestClassifier
from lacforest.ensemble.base import BaseLACForest
from lacforest.tabular._coder import CodedTables, TableCoder
from lacforest.tabular._from_files import coded_files, fit_source, set_categories
from lacforest.tabular.fitted_rows import FittedRows
from lacforest.tabular.labels import check_shares
from lacforest.tabular.places import Place, TableLike
from lacforest.tabular.reading import places_of
from lacforest.tabular.scorer import TableScorer


class TabularModel(TableScorer):
    """A forest for tables as they are read from files.

    Parameters
    ----------
    forest : LACForestClassifier or LACExtraTreesClassifier, optional
        The forest to fit, with its parameters.
    coder : TableCoder, optional
        The coder of the columns.
    calibration_size : float or int, optional
        Labelled rows that `fit` holds out for a `NoveltyCalibrator`; without it there is none.

    Attributes
    ----------
    forest, coder
        As given; fitted by `fit`.
    calibrator : NoveltyCalibrator or None
        Of the forest. With it, rows that took part in the fit get the scores of fits that did not
        use them.
    groups : NewClassGroups or None
        Groups of new rows found so far.
    target : str or None
        The column of labels; None if the model was not fitted on a table.
    version : str or None
        The version of lacforest that fitted the model; None if a file does not contain it.
    notes : list of str
        Notes for the user about the columns.
    fitted_rows : FittedRows or None
        By which the unlabelled rows of the fit are recognised; None in files of earlier versions.

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

    forest: BaseLACForest

    def __init__(
        self,
        forest: BaseLACForest | None = None,
        coder: TableCoder | None = None,
        calibration_size: float | int | None = None,
    ) -> None:
        super().__init__(
            LACForestClassifier() if forest is None else forest,
            TableCoder() if coder is None else coder,
        )
        self.calibration_size = calibration_size
        self.groups: NewClassGroups | None = None
        self.version = __version__

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
            Labelled rows, with the label as one of the columns.
        target : str
            The column of labels.
        unlabeled : pandas.DataFrame
            Unlabelled rows from deployment.
        sources : tuple of str
            Names of the two frames in messages, for instance their files.

        Returns
        -------
        self
        """
        self._fit(frame, target, unlabeled, sources)
        return self

    def fit_predict(
        self,
        frame: Any,
        target: str,
        unlabeled: Any,
        sources: tuple[str, str] = ("the labelled table", "the unlabelled table"),
    ) -> Any:
        """Like `fit`, then `predict` of the unlabelled rows, which are coded only once.

        Parameters
        ----------
        frame, target, unlabeled, sources
            As in `fit`.

        Returns
        -------
        pandas.DataFrame
            As `predict` returns it for `unlabeled`.
        """
        tables = self._fit(frame, target, unlabeled, sources)
        return self.predict_coded(tables.X_unlabeled, unlabeled.index)

    def _fit(
        self, frame: Any, target: str, unlabeled: Any, sources: tuple[str, str]
    ) -> CodedTables:
        coder = copy.copy(self.coder)  # keep the old one if the fit fails
        tables = coder.fit_encode(frame, target, unlabeled, sources)
        check_shares(self.forest.known_shares, tables.y)
        # Frames, so that warnings and findings of the fit name the columns. The forest itself takes
        # coded arrays: the coder has the names.
        X, X_unlabeled = (_named(table, coder) for table in (tables.X, tables.X_unlabeled))
        set_categories(self.forest, coder)
        found: NoveltyCalibrator | None = None
        if self.calibration_size is None:
            self.forest.fit(X, tables.y, X_unlabeled=X_unlabeled)
        else:
            found = NoveltyCalibrator(
                self.forest,
                calibration_size=self.calibration_size,
                random_state=self.forest.random_state,
            ).fit(X, tables.y, X_unlabeled=X_unlabeled)
            found.unlabeled_scores()
            self.forest = found.estimator_
        del self.forest.feature_names_in_
        self._keep(coder, target, found, FittedRows.of(tables.X_unlabeled, tables.X))
        return tables

    def _keep(
        self,
        coder: TableCoder,
        target: str,
        calibrator: NoveltyCalibrator | None,
        fitted_rows: FittedRows,
    ) -> None:
        """Store what belongs to a forest that was fitted just now; groups were of another one."""
        self.coder, self.target, self.notes = coder, target, coder.notes_
        self.calibrator, self.groups, self.version = calibrator, None, __version__
        self.fitted_rows = fitted_rows

    def fit_files(
        self,
        labeled: TableLike | Sequence[TableLike | Place],
        target: str,
        unlabeled: TableLike | Sequence[TableLike | Place],
        *,
        max_memory: int = 2 * 2**30,
        folder: str | os.PathLike[str] | None = None,
        encoding: str = "utf-8",
    ) -> Self:
        """Grow the forest on two files that need not fit in memory.

        Parquet files are read by batches of row groups and CSV files in chunks, twice: first for
        labels, a sample of 200,000 rows by hash and the distinct values of columns, then to code
        every row by bins, one byte per cell, in a file that is mapped into memory. Columns, their
        categories, quantiles and theta come from the sample: a text that it does not hold counts as
        missing.

        Parameters
        ----------
        labeled : str or path-like, or a sequence of them
            Files of labelled rows, as in `read_table`.
        target : str
            The column of labels.
        unlabeled : str or path-like, or a sequence of them
            Files of unlabelled rows from deployment, with the same columns.
        max_memory : int, default=2 * 2**30
            Bytes that the fit may use, the mapped codes aside. They determine how many rows are
            read at a time and, unless the forest has `max_samples`, how many rows each tree is
            grown on: `max_samples` is set to that number.
        folder : str or path-like, optional
            Where codes are written, one byte per row and feature; by default the folder for
            temporary files. The file has no name, so that nothing is left of it.
        encoding : str, default="utf-8"
            Encoding of CSV files.

        Returns
        -------
        self
        """
        if self.calibration_size is not None:
            raise ValueError(
                "rows for calibration are held out of tables in memory only: fit on frames, or "
                "without calibration_size"
            )
        check_int("max_memory", max_memory, 1)
        coder = copy.copy(self.coder)  # keep the old one if the fit fails
        places = places_of(labeled), places_of(unlabeled)
        with coded_files(coder, places, target, max_memory, folder, encoding) as (
            source,
            fitted_rows,
        ):
            set_categories(self.forest, coder)
            fit_source(self.forest, source, max_memory)
        self._keep(coder, target, None, fitted_rows)
        return self

    def _require_fit(self) -> None:
        check_is_fitted(self.forest)

    def _probabilities(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        table = X
        if hasattr(self.forest, "feature_names_in_"):  # fitted on a frame, it predicts on frames
            table = _named(X, self.coder)
        probabilities = self.forest.predict_proba(table)
        if self.calibrator is not None:
            _make_honest(probabilities, self.calibrator, X)
        return probabilities

    # ------------------------------------------------------------------ files

    def save(self, path: str | os.PathLike[str]) -> None:
        """Write forest and column coding to one file; an existing file is replaced.

        The `load` of the forest's class also reads the file, and returns the forest alone.
        """
        check_is_fitted(self.forest)
        attachment: dict[str, Any] = {
            "table": self.coder.to_dict(),
            "target": self.target,
            "lacforest": __version__,
        }
        if self.calibrator is not None:
            attachment["calibration"] = encode_calibrator(self.calibrator)
        if self.fitted_rows is not None:
            attachment["fitted_rows"] = self.fitted_rows.to_dict()
        if self.groups is not None:
            attachment["groups"] = encode_groups(self.groups)
        save_forest(self.forest, path, compress=True, attachment=attachment)

    @classmethod
    def _load_forest(cls, path: str | os.PathLike[str], name: str) -> BaseLACForest:
        loaded: BaseLACForest = getattr(ensemble, name).load(path)
        return loaded

    def _attach(self, attachment: dict[str, Any], path: str | os.PathLike[str]) -> None:
        super()._attach(attachment, path)
        with naming_the_file(path):
            if "calibration" in attachment:
                self.calibrator = decode_calibrator(attachment["calibration"], self.forest)
            if "groups" in attachment:
                self.groups = decode_groups(attachment["groups"], self.forest.n_features_in_)


def _make_honest(
    probabilities: NDArray[np.float64], calibrator: NoveltyCalibrator, X: NDArray[np.float64]
) -> None:
    """Give rows of the fit the probability of "new" by fits that did not use them, in place."""
    new = calibrator.estimator_.new_class_index_
    scores, _, is_fitted = calibrator.judge(X)
    if not is_fitted.any():
        return
    rows = probabilities[is_fitted]
    score = np.clip(scores[is_fitted], 0.0, 1.0)
    known = np.delete(rows, new, axis=1)
    total = known.sum(axis=1, keepdims=True)
    # Where no tree votes for a known class, all of them are equally likely.
    known = np.divide(known, total, where=total > 0, out=np.full_like(known, 1 / known.shape[1]))
    rows[:, np.arange(rows.shape[1]) != new] = known * (1.0 - score[:, None])
    rows[:, new] = score
    probabilities[is_fitted] = rows


def _named(table: NDArray[np.float64], coder: TableCoder) -> Any:
    """The coded table as a frame, without a copy."""
    return load_extra("pandas").DataFrame(table, columns=coder.feature_names, copy=False)
