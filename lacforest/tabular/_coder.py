"""Coding of a table as numbers: which columns are used, their kinds, and how text is coded."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from lacforest._utils.extras import load_extra
from lacforest._utils.printable import counted
from lacforest.tabular._columns import Column, present
from lacforest.tabular._dates import ELAPSED, PARTS
from lacforest.tabular._survey import check_header, survey
from lacforest.tabular.errors import Advice, Problems, TableError, listed
from lacforest.tabular.kinds import CODINGS, CONTENTS, Coding, Kind
from lacforest.tabular.labels import check_labels, meant_target
from lacforest.tabular.options import CoderOptions, Sources

_VERSION = 3
# Readers of version 2 do not know native categories.
_WITHOUT_NATIVE = 2


class CodedTables(NamedTuple):
    """Two tables as the `fit` of a forest takes them."""

    X: NDArray[np.float64]
    y: NDArray[Any]
    X_unlabeled: NDArray[np.float64]


class TableCoder:
    """Codes the columns of a frame as numbers, the same way in every frame.

    Numbers are kept, booleans become 0 and 1, text is coded by its categories, and missing values
    are NaN. Categories are collected from labelled and unlabelled rows. A text that is in neither
    counts as missing: NaN, or zeros if coded one-hot. Columns without useful information are left
    out with a note: constants, columns without a name, text that rarely repeats, and numbers that
    look like an id, a counter or a time stamp. Text with stray numbers is text, with a note. Dates
    raise an error unless `dates` is set, because rows from deployment would look new by their date
    alone. One error reports all problems of both tables.

    Parameters
    ----------
    categories : {"native", "ordinal", "onehot"}, default="native"
        Code text as its index among the sorted categories, which the forest takes as categories
        ("native") or as numbers ("ordinal"); or as one feature per category. "native" takes a
        column with fewer than 20 rows per category as numbers.
    drop : collection of str
        Columns to leave out.
    text : collection of str
        Columns to treat as text even if they look like numbers, such as postcodes.
    missing : collection of str
        Texts that mean a missing value, in addition to those of pandas.
    use : collection of str
        Columns to keep even if they look like an id.
    dates : bool, default=False
        Code dates and times by what rows of both tables can share: hour, weekday, and the days
        since the first column of dates in the same row. Times with a zone are taken in UTC.
    advice : Advice, optional
        How messages spell these options.

    Attributes
    ----------
    columns_ : tuple of Column
        The columns used, in the order of their features.
    dropped_ : dict of str to str
        The columns that are left out, with the reason.
    notes_ : list of str
        Notes for the user about the columns.

    Examples
    --------
    >>> import pandas
    >>> from lacforest.tabular import TableCoder
    >>> labelled = pandas.DataFrame({"age": [31, None, 5], "city": ["Oslo", "Rome", "Oslo"]})
    >>> deployed = pandas.DataFrame({"age": [40, 52], "city": ["Rome", "Bern"]})
    >>> coder = TableCoder().fit(labelled, deployed)
    >>> coder.encode(labelled)
    array([[31.,  1.],
           [nan,  2.],
           [ 5.,  1.]])
    """

    def __init__(
        self,
        categories: Coding = "native",
        *,
        drop: Collection[str] = (),
        text: Collection[str] = (),
        missing: Collection[str] = (),
        use: Collection[str] = (),
        dates: bool = False,
        advice: Advice | None = None,
    ) -> None:
        if categories not in CODINGS:
            raise ValueError(f"categories must be one of {', '.join(CODINGS)}, got {categories!r}")
        self.options = CoderOptions(
            categories,
            drop=tuple(drop),
            text=tuple(text),
            missing=tuple(missing),
            use=tuple(use),
            dates=dates,
            advice=advice or Advice(),
        )

    @property
    def missing(self) -> tuple[str, ...]:
        """Texts that mean a missing value."""
        return self.options.missing

    @classmethod
    def of_numbers(
        cls, names: Collection[str], texts: Mapping[str, Collection[str]] | None = None
    ) -> Self:
        """A coder for the given columns: numbers, but for those whose categories are given."""
        coder, texts = cls(), texts or {}
        coder.columns_ = tuple(
            Column(name, "text", tuple(texts[name]), "native")
            if name in texts
            else Column(name, "number")
            for name in names
        )
        coder.dropped_, coder.notes_ = {}, []
        return coder

    # ------------------------------------------------------------------ fit

    def fit(
        self,
        labeled: Any,
        unlabeled: Any,
        target: str | None = None,
        sources: Sources = ("the labelled table", "the unlabelled table"),
    ) -> Self:
        """Determine the kinds and categories of the columns of two frames.

        Parameters
        ----------
        labeled : pandas.DataFrame
            Labelled rows.
        unlabeled : pandas.DataFrame
            Unlabelled rows with the same columns in any order.
        target : str, optional
            The column of labels, which is not a feature.
        sources : tuple of str
            Names of the two frames in messages, for instance their files.

        Returns
        -------
        self
        """
        found = survey(labeled, unlabeled, target, sources, self.options)
        self.columns_: tuple[Column, ...] = found.columns
        self.dropped_: dict[str, str] = found.dropped
        self.notes_: list[str] = found.notes
        return self

    # ------------------------------------------------------------------ use

    @property
    def kinds(self) -> dict[str, Kind]:
        """The kind of each column: "number", "boolean", "text" or "date"."""
        return {column.name: column.kind for column in self.columns_}

    @property
    def feature_names(self) -> list[str]:
        """Names of the features; those of a column coded one-hot are ``column=category``."""
        return [name for column in self.columns_ for name in column.feature_names]

    @property
    def texts_of_codes(self) -> dict[str, tuple[str, ...]]:
        """Texts that the codes 0, 1, 2 and so on of a feature stand for, by its name."""
        found: dict[str, tuple[str, ...]] = {}
        for column in self.columns_:
            if column.kind == "boolean":
                found[column.name] = ("false", "true")
            elif column.kind == "text" and column.coding != "onehot":
                found[column.name] = column.categories
        return found

    @property
    def n_categories(self) -> list[int]:
        """Categories of each feature that the forest takes as categories, 0 of all others."""
        return [
            len(column.categories) if column.kind == "text" and column.coding == "native" else 0
            for column in self.columns_
            for _ in column.feature_names
        ]

    def typed(self, X: NDArray[np.float64]) -> Any:
        """An encoded table as a frame in which native categories are of type category."""
        frame = load_extra("pandas").DataFrame(X, columns=self.feature_names, copy=False)
        chosen = [name for name, n in zip(self.feature_names, self.n_categories, strict=True) if n]
        return frame.astype(dict.fromkeys(chosen, "category"))

    def fit_encode(
        self,
        labeled: Any,
        target: str,
        unlabeled: Any,
        sources: Sources = ("the labelled table", "the unlabelled table"),
    ) -> CodedTables:
        """Like `fit`, then `encode` of both frames; the labels are checked first.

        Parameters
        ----------
        labeled, target, unlabeled, sources
            As in `fit`.

        Returns
        -------
        X, y, X_unlabeled : ndarray
            Features of the labelled rows, their labels, and features of the unlabelled rows.
        """
        for frame, source in zip((labeled, unlabeled), sources, strict=True):
            check_header(frame, source)
        problems = Problems()
        meant = meant_target(target, labeled.columns, {*unlabeled.columns, *self.options.drop})
        with problems.collecting():
            if meant is not None:
                y = check_labels(labeled, meant, sources[0])
        with problems.collecting():
            if len(unlabeled) < 2:
                raise TableError(
                    f"{sources[1]} has {counted(len(unlabeled), 'unlabelled row')}, and at least "
                    "two are needed"
                )
            self.fit(labeled, unlabeled, target, sources)
        problems.raise_if_any()
        X = self.encode(labeled, source=sources[0])
        return CodedTables(X, y, self.encode(unlabeled, source=sources[1]))

    def encode(
        self,
        frame: Any,
        unseen: dict[str, tuple[int, str]] | None = None,
        source: str = "the table",
    ) -> NDArray[np.float64]:
        """The features of a frame; columns that the coder does not use are ignored.

        Parameters
        ----------
        frame : pandas.DataFrame
        unseen : dict, optional
            Filled with texts that are not among the categories: for each column, the number of
            rows with such a text, and the first of them. Counts of several calls are added.
        source : str
            Name of the frame in messages.

        Returns
        -------
        float64 array of shape (n_rows, n_features)
        """
        check_header(frame, source)
        absent = [column.name for column in self.columns_ if column.name not in frame.columns]
        if absent:
            word = "column" if len(absent) == 1 else "columns"
            raise TableError(f"{source} has no {word} {listed(absent)}")
        X = np.empty((len(frame), len(self.feature_names)))
        first = 0
        for column in self.columns_:
            end = first + len(column.feature_names)
            values = present(frame[column.name], self.missing)
            since = None if column.since is None else present(frame[column.since], self.missing)
            texts = column.encode(values, source, X[:, first:end], since)
            if unseen is not None and len(texts):
                n_rows, example = unseen.get(column.name, (0, str(texts.iloc[0])))
                unseen[column.name] = n_rows + len(texts), example
            first = end
        return X

    # ------------------------------------------------------------------ files

    def to_dict(self) -> dict[str, Any]:
        """The fitted coder as a dict of JSON values."""
        columns = []
        for column in self.columns_:
            entry: dict[str, Any] = {"name": column.name, "kind": column.kind}
            if column.kind == "text":
                entry["categories"] = list(column.categories)
                if column.coding != self.options.categories:
                    entry["coding"] = column.coding
            if column.kind == "date":
                entry |= {"parts": list(column.parts), "since": column.since}
            columns.append(entry)
        return {
            "version": _VERSION if self.options.categories == "native" else _WITHOUT_NATIVE,
            "categories": self.options.categories,
            "columns": columns,
            "dropped": self.dropped_,
            "missing": list(self.missing),
        }

    @classmethod
    def from_dict(cls, content: Any) -> Self:
        """The coder that `to_dict` wrote; raises TableError if the content is invalid."""
        _require(isinstance(content, dict) and isinstance(content.get("version"), int), "version")
        if content["version"] > _VERSION:
            raise TableError(
                f"its column coding has version {content['version']}, but this lacforest supports "
                f"versions up to {_VERSION}: update lacforest"
            )
        dropped, missing = content.get("dropped"), content.get("missing")
        _require(content.get("categories") in CODINGS, "categories")
        _require(isinstance(dropped, dict) and _is_texts(list(dropped.values())), "dropped")
        _require(_is_texts(missing), "missing")
        _require(isinstance(content.get("columns"), list) and content["columns"], "columns")
        coder = cls(content["categories"], missing=missing)
        columns = [_read_column(entry, coder.options.categories) for entry in content["columns"]]
        dates = {column.name for column in columns if column.kind == "date"}
        _require(len({column.name for column in columns}) == len(columns), "names of columns")
        _require(all(column.since in {None, *dates} for column in columns), "linked dates")
        coder.columns_, coder.dropped_, coder.notes_ = tuple(columns), dropped, []
        return coder


def _is_texts(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(value, str) for value in values)


def _require(condition: Any, what: str) -> None:
    if not condition:
        raise TableError(f"its column coding is damaged: {what}")


def _read_column(entry: Any, coding: Coding) -> Column:
    _require(isinstance(entry, dict) and isinstance(entry.get("name"), str), "name of a column")
    name, kind = entry["name"], entry.get("kind")
    _require(isinstance(kind, str) and kind in CONTENTS, f"kind of column {name!r}")
    categories = entry.get("categories", [])
    _require(
        _is_texts(categories)
        and len(set(categories)) == len(categories)
        and bool(categories) == (kind == "text"),
        f"categories of column {name!r}",
    )
    _require(entry.get("coding", coding) in CODINGS, f"coding of column {name!r}")
    if kind != "date":
        own = entry.get("coding", coding)
        return Column(name, kind, tuple(categories), own) if categories else Column(name, kind)
    parts, since = entry.get("parts"), entry.get("since")
    _require(
        _is_texts(parts)
        and parts
        and set(parts) <= set(PARTS)
        and len(set(parts)) == len(parts)
        and isinstance(since, str) == (ELAPSED in parts),
        f"parts of column {name!r}",
    )
    return Column(name, "date", parts=tuple(parts), since=since)
