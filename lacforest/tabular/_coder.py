"""Coding of a table as numbers: which columns are used, their kinds, and how text is coded."""

from __future__ import annotations

from collections.abc import Collection
from typing import Any, Literal, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray

from lacforest.tabular._columns import Column, as_numbers, as_text, find_kind, present
from lacforest.tabular._errors import TableError, listed
from lacforest.tabular._labels import check_labels
from lacforest.tabular.kinds import CONTENTS, Kind

Sources = tuple[str, str]
_VERSION = 1
# A column with fewer distinct values than this is never taken for an id.
_FEW = 20
_MOST_CATEGORIES = 100_000
# Features of one column that is coded one-hot.
_MOST_FEATURES = 256


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
    out with a note: constants, columns without a name, and text that rarely repeats. Dates raise
    an error, because rows from deployment would look new by their date alone.

    Parameters
    ----------
    categories : {"ordinal", "onehot"}, default="ordinal"
        Code text as its index among the sorted categories, or as one feature per category.
    drop : collection of str
        Columns to leave out.
    text : collection of str
        Columns to treat as text even if they look like numbers, such as postcodes.
    missing : collection of str
        Texts that mean a missing value, in addition to those of pandas.

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
        categories: Literal["ordinal", "onehot"] = "ordinal",
        *,
        drop: Collection[str] = (),
        text: Collection[str] = (),
        missing: Collection[str] = (),
    ) -> None:
        if categories not in ("ordinal", "onehot"):
            raise ValueError(f'categories must be "ordinal" or "onehot", got {categories!r}')
        self.categories = categories
        self.drop = tuple(drop)
        self.text = tuple(text)
        self.missing = tuple(missing)

    @classmethod
    def of_numbers(cls, names: Collection[str]) -> Self:
        """A coder for the given columns, all of which contain numbers."""
        coder = cls()
        coder.columns_ = tuple(Column(name, "number") for name in names)
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
        self._check_names(labeled, unlabeled, target, sources)
        self.dropped_: dict[str, str] = dict.fromkeys(self.drop, "as requested")
        self.notes_: list[str] = []
        columns = []
        if target is not None and target in unlabeled.columns:
            self.notes_.append(f"column {target!r} of {sources[1]} is not used")
        for name in labeled.columns:
            if name in self.drop or name == target:
                continue
            if not name.strip():
                self._leave_out(name, "it has no name (pandas writes row numbers without a name)")
                continue
            pair = (present(labeled[name], self.missing), present(unlabeled[name], self.missing))
            column = self._find_column(name, pair, sources)
            if column is not None:
                columns.append(column)
        if not columns:
            raise TableError(f"{sources[0]} has no columns to learn from")
        self.columns_ = tuple(columns)
        return self

    def _check_names(
        self, labeled: Any, unlabeled: Any, target: str | None, sources: Sources
    ) -> None:
        _check_header(labeled, sources[0])
        _check_header(unlabeled, sources[1])
        both = {*labeled.columns, *unlabeled.columns}
        for names, word in ((self.drop, "drop"), (self.text, "text")):
            absent = [name for name in names if name not in both]
            if absent:
                raise TableError(
                    f"{word} names {listed(absent)}, but neither {sources[0]} nor {sources[1]} has "
                    "such a column"
                )
        for here, there in ((0, 1), (1, 0)):
            names, others = (labeled, unlabeled)[here].columns, (labeled, unlabeled)[there].columns
            unused = {*self.drop, target}
            alone = [name for name in names if name not in unused and name not in others]
            if alone:
                word = "column" if len(alone) == 1 else "columns"
                raise TableError(
                    f"{sources[here]} has the {word} {listed(alone)}, but {sources[there]} does "
                    "not: add what is missing, or name it in drop"
                )

    def _find_column(self, name: str, pair: tuple[Any, Any], sources: Sources) -> Column | None:
        for values, source in zip(pair, sources, strict=True):
            if values.isna().all():
                raise TableError(
                    f"column {name!r} of {source} has no values. Rows with a value would differ by "
                    "that alone: fill in the values, or name the column in drop"
                )
        if name in self.text:
            return self._find_categories(name, pair)
        kinds = [
            find_kind(values, name, source) for values, source in zip(pair, sources, strict=True)
        ]
        if kinds[0] != kinds[1]:
            examples = [str(values.dropna().iloc[0]) for values in pair]
            words = [CONTENTS[kind] for kind in kinds]
            raise TableError(
                f"column {name!r} contains {words[0]} in {sources[0]} (such as {examples[0]!r}) "
                f"and {words[1]} in {sources[1]} (such as {examples[1]!r}): convert one of them, "
                "or name the column in text or in drop"
            )
        if kinds[0] == "text":
            return self._find_categories(name, pair)
        if kinds[0] == "number":
            return self._check_numbers(name, pair, sources)
        return None if self._is_constant(name, pair) else Column(name, "boolean")

    def _check_numbers(self, name: str, pair: tuple[Any, Any], sources: Sources) -> Column | None:
        arrays = [
            as_numbers(values, name, source) for values, source in zip(pair, sources, strict=True)
        ]
        every = np.concatenate(arrays)
        if every.min() == every.max():  # False if a value is missing, because min and max are NaN
            self._leave_out(name, "it has the same value in all rows")
            return None
        whole = [len(array) >= _FEW and (array == np.floor(array)).all() for array in arrays]
        if all(whole) and all(len(np.unique(array)) == len(array) for array in arrays):
            self.notes_.append(
                f"column {name!r} is a different integer in every row: if it is an id, name it in "
                "drop, because ids can make rows look new"
            )
        return Column(name, "number")

    def _find_categories(self, name: str, pair: tuple[Any, Any]) -> Column | None:
        if self._is_constant(name, pair):
            return None
        texts = [as_text(values).dropna() for values in pair]
        n_values = sum(map(len, texts))
        distinct = sorted({*texts[0], *texts[1]})
        if len(distinct) > min(max(_FEW, n_values // 2), _MOST_CATEGORIES):
            self._leave_out(name, f"it has {len(distinct)} different texts in {n_values} rows")
            return None
        if self.categories == "onehot" and len(distinct) > _MOST_FEATURES:
            raise TableError(
                f"column {name!r} has {len(distinct)} categories, too many for one-hot coding: use "
                "ordinal categories, or name the column in drop"
            )
        return Column(name, "text", tuple(distinct), self.categories)

    def _is_constant(self, name: str, pair: tuple[Any, Any]) -> bool:
        constant = (
            all(values.notna().all() for values in pair)
            and len({*pair[0].unique(), *pair[1].unique()}) == 1
        )
        if constant:
            self._leave_out(name, "it has the same value in all rows")
        return constant

    def _leave_out(self, name: str, why: str) -> None:
        self.dropped_[name] = why
        self.notes_.append(f"column {name!r} is left out: {why}")

    # ------------------------------------------------------------------ use

    @property
    def kinds(self) -> dict[str, Kind]:
        """The kind of each column: "number", "boolean" or "text"."""
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
            elif column.kind == "text" and column.coding == "ordinal":
                found[column.name] = column.categories
        return found

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
        y = check_labels(labeled, target, sources[0])
        if len(unlabeled) < 2:
            raise TableError(
                f"{sources[1]} has {len(unlabeled)} unlabelled rows, and at least two are needed"
            )
        self.fit(labeled, unlabeled, target, sources)
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
        _check_header(frame, source)
        absent = [column.name for column in self.columns_ if column.name not in frame.columns]
        if absent:
            word = "column" if len(absent) == 1 else "columns"
            raise TableError(f"{source} has no {word} {listed(absent)}")
        X = np.empty((len(frame), len(self.feature_names)))
        first = 0
        for column in self.columns_:
            end = first + len(column.feature_names)
            values = present(frame[column.name], self.missing)
            texts = column.encode(values, source, X[:, first:end])
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
            columns.append(entry)
        return {
            "version": _VERSION,
            "categories": self.categories,
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
        _require(content.get("categories") in ("ordinal", "onehot"), "categories")
        _require(isinstance(dropped, dict) and _is_texts(list(dropped.values())), "dropped")
        _require(_is_texts(missing), "missing")
        _require(isinstance(content.get("columns"), list) and content["columns"], "columns")
        coder = cls(content["categories"], missing=missing)
        columns = [_read_column(entry, coder.categories) for entry in content["columns"]]
        _require(len({column.name for column in columns}) == len(columns), "names of columns")
        coder.columns_, coder.dropped_, coder.notes_ = tuple(columns), dropped, []
        return coder


def _check_header(frame: Any, source: str) -> None:
    if not frame.columns.is_unique:
        twice = list(frame.columns[frame.columns.duplicated()].unique())
        raise TableError(f"{source} has more than one column called {listed(twice)}")
    strange = [name for name in frame.columns if not isinstance(name, str)]
    if strange:
        raise TableError(f"column names must be text, but {source} has {strange[0]!r}")


def _is_texts(values: Any) -> bool:
    return isinstance(values, list) and all(isinstance(value, str) for value in values)


def _require(condition: Any, what: str) -> None:
    if not condition:
        raise TableError(f"its column coding is damaged: {what}")


def _read_column(entry: Any, coding: Literal["ordinal", "onehot"]) -> Column:
    _require(isinstance(entry, dict) and isinstance(entry.get("name"), str), "name of a column")
    name, kind = entry["name"], entry.get("kind")
    _require(kind in ("number", "boolean", "text"), f"kind of column {name!r}")
    categories = entry.get("categories", [])
    _require(
        _is_texts(categories)
        and len(set(categories)) == len(categories)
        and bool(categories) == (kind == "text"),
        f"categories of column {name!r}",
    )
    return Column(name, kind, tuple(categories), coding) if categories else Column(name, kind)
