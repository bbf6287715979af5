"""A first reading of two files: labels, a sample of rows, and distinct values of columns."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacforest._coding.bins import SAMPLE_SEED, SAMPLED_ROWS
from lacforest._input.parameters import MOST_BINS
from lacforest._tree.bins import few_distinct
from lacforest._tree.row_hash import row_words
from lacforest._utils.extras import load_extra
from lacforest.tabular._columns import find_kind, is_number, present
from lacforest.tabular.errors import Advice, Problems, TableError
from lacforest.tabular.kinds import Kind
from lacforest.tabular.labels import check_labels, lacks_label, require_labels
from lacforest.tabular.options import CoderOptions, check_names
from lacforest.tabular.places import Place, joint_name
from lacforest.tabular.reading import iter_table, read_head

# A piece of a file in memory, per cell: Arrow, pandas and the features as floats.
_CELL_BYTES = 64


@dataclass(frozen=True)
class FileOptions:
    """How files are read.

    Attributes
    ----------
    text, missing : collection of str
    encoding : str
        As in `read_table`.
    max_memory : int
        Bytes of the whole fit: an eighth of them for rows that are read at a time.
    advice : Advice
        How messages spell options.
    """

    text: Collection[str] = ()
    missing: Collection[str] = ()
    encoding: str = "utf-8"
    max_memory: int = 2**31
    advice: Advice = field(default_factory=Advice)

    def chunk_rows(self, n_columns: int) -> int:
        """Rows that are in memory at a time."""
        rows = self.max_memory // 8 // (_CELL_BYTES * max(1, n_columns))
        return min(max(rows, 1_000), 1_000_000)


class TableFile:
    """One or several files, read in pieces; the first piece shows the kinds of their columns.

    Parameters
    ----------
    places : sequence of Place
    options : FileOptions
    drop : collection of str
        Columns that are not read.

    Attributes
    ----------
    columns : list of str
        All columns, also those that are not read.
    kinds : dict of str to {"number", "boolean", "text", "date"}
        Of the columns that are read.
    problems : Problems
        What is wrong with columns.
    """

    def __init__(
        self, places: Sequence[Place], options: FileOptions, drop: Collection[str]
    ) -> None:
        self.name, self._places, self._options = joint_name(places), places, options
        head = read_head(
            places[0], text=options.text, missing=options.missing, encoding=options.encoding
        )
        self.columns = list(head.columns)
        self.kinds: dict[str, Kind] = {}
        self.problems = Problems()
        for name in head.columns:
            if name not in drop and name.strip():
                with self.problems.collecting():
                    self.kinds[name] = self._find_kind(name, present(head[name], options.missing))

    def _find_kind(self, name: str, values: Any) -> Kind:
        advice = self._options.advice
        if name in self._options.text:
            return "text"
        if values.isna().all():
            raise TableError(
                f"column {name!r} of {self.name} has no values in its first {len(values)} rows, "
                f"so that its kind cannot be told: use {advice.option('drop', name)} or "
                f"{advice.option('text', name)}"
            )
        kind = find_kind(values, name, self.name, advice)
        if kind == "mixed":
            # Text with stray numbers is text; a stray text among numbers is an error that names
            # its place when the column is read.
            n_numbers = int(is_number(values).sum())
            return "text" if 2 * n_numbers <= values.notna().sum() else "number"
        return kind

    def pieces(self, without: Collection[str] = ()) -> Iterator[tuple[str, Any]]:
        """Pieces of the file, each with its name for messages."""
        kinds = {name: kind for name, kind in self.kinds.items() if name not in without}
        options = self._options
        for place in self._places:
            pieces = iter_table(
                place,
                kinds,
                chunk_rows=options.chunk_rows(len(kinds)),
                missing=options.missing,
                encoding=options.encoding,
            )
            for number, piece in enumerate(pieces, 1):
                yield f"{place} (chunk {number})", piece


@dataclass
class FirstPass:
    """What the first reading of both files found.

    Attributes
    ----------
    n_labeled, n_unlabeled : int
    samples : pair of pandas.DataFrame
        Labelled and unlabelled rows of the smallest hashes.
    distinct : dict of str to float64 array
        Values of columns of numbers that have no more than 255 of them.
    labels : LabelCodes
        The labels, by which the rows of the second reading are coded.
    """

    n_labeled: int
    n_unlabeled: int
    samples: tuple[Any, Any]
    distinct: dict[str, NDArray[np.float64]]
    labels: LabelCodes


def check_files(
    labeled: TableFile, target: str, unlabeled: TableFile, wanted: CoderOptions
) -> None:
    """Raise one error with all that is wrong with the columns of two files."""
    problems, advice = Problems(), wanted.advice
    for file in (labeled, unlabeled):
        with problems.collecting():
            file.problems.raise_if_any()
    columns, names = (labeled.columns, unlabeled.columns), (labeled.name, unlabeled.name)
    check_names(columns, target, names, wanted, problems)
    for name, kind in labeled.kinds.items():
        other = unlabeled.kinds.get(name, kind)
        with problems.collecting():
            if other != kind:
                raise TableError(
                    f"column {name!r} is of kind {kind} in {labeled.name} and of kind {other} in "
                    f"{unlabeled.name}: convert one of them, or use {advice.option('text', name)} "
                    f"or {advice.option('drop', name)}"
                )
    problems.raise_if_any()


def read_first(
    labeled: TableFile, target: str, unlabeled: TableFile, wanted: CoderOptions
) -> FirstPass:
    """Read both files once."""
    check_files(labeled, target, unlabeled, wanted)
    sample, labels = _HashedRows(), LabelCodes(target)
    distinct: dict[str, NDArray[np.float64] | None] = {}
    n_rows = 0
    for name, piece in labeled.pieces():
        labels.add(piece, name, n_rows)
        _count_distinct(piece, name, distinct)
        sample.add(piece, n_rows)
        n_rows += len(piece)
    n_labeled = n_rows
    for name, piece in unlabeled.pieces(without=[target]):
        _count_distinct(piece, name, distinct)
        sample.add(piece, n_rows)
        n_rows += len(piece)
    labels.finish(labeled.name)
    few = {name: values for name, values in distinct.items() if values is not None}
    return FirstPass(n_labeled, n_rows - n_labeled, sample.frames(n_labeled), few, labels)


def _count_distinct(
    piece: Any, source: str, distinct: dict[str, NDArray[np.float64] | None]
) -> None:
    """Add the values of a piece to the few that each column of numbers had so far."""
    types = load_extra("pandas").api.types
    for name in piece.columns:
        if not types.is_numeric_dtype(piece[name]):
            continue
        values = piece[name].to_numpy(dtype=np.float64, na_value=np.nan)
        if np.isinf(values).any():
            raise TableError(f"column {name!r} of {source} contains infinite values: replace them")
        before = distinct.get(name, np.zeros(0))
        if before is None:
            continue
        found = few_distinct(values, MOST_BINS)
        merged = None if found is None else np.union1d(before, found)
        distinct[name] = None if merged is None or len(merged) > MOST_BINS else merged


class _HashedRows:
    """The rows of smallest hash so far, from pieces of a table."""

    def __init__(self) -> None:
        self._pieces: list[Any] = []
        self._words: list[NDArray[np.uint64]] = []
        self._numbers: list[NDArray[np.int64]] = []
        self._highest = np.uint64(2**64 - 1)

    def add(self, piece: Any, first: int) -> None:
        words = row_words(first, first + len(piece), SAMPLE_SEED)
        kept = np.flatnonzero(words <= self._highest)
        self._pieces.append(piece.iloc[kept])
        self._words.append(words[kept])
        self._numbers.append(first + kept)
        if sum(map(len, self._words)) > 2 * SAMPLED_ROWS:
            self._shrink()

    def _shrink(self) -> None:
        words = np.concatenate(self._words)
        if len(words) <= SAMPLED_ROWS:
            return
        self._highest = np.partition(words, SAMPLED_ROWS - 1)[SAMPLED_ROWS - 1]
        for place, own in enumerate(self._words):
            kept = np.flatnonzero(own <= self._highest)
            self._pieces[place] = self._pieces[place].iloc[kept]
            self._words[place], self._numbers[place] = own[kept], self._numbers[place][kept]

    def frames(self, n_labeled: int) -> tuple[Any, Any]:
        """Labelled and unlabelled rows of the sample."""
        pandas = load_extra("pandas")
        self._shrink()
        parts: tuple[list[Any], list[Any]] = ([], [])
        for piece, numbers in zip(self._pieces, self._numbers, strict=True):
            if len(numbers):
                parts[int(numbers[0] >= n_labeled)].append(piece)
        labeled, unlabeled = (
            pandas.concat(part, ignore_index=True) if part else self._pieces[0].iloc[:0]
            for part in parts
        )
        return labeled, unlabeled


class LabelCodes:
    """The labels of a file in pieces, and their codes.

    Rows get their codes when they are read to stay: a query need not give them in the same order
    twice.

    Attributes
    ----------
    known : array
        The labels, sorted; set by `finish`.
    """

    known: NDArray[Any]

    def __init__(self, target: str) -> None:
        self._target = target
        self._code_of: dict[Any, int] = {}

    def add(self, piece: Any, name: str, first: int) -> None:
        """Take up the labels of a piece of the first reading."""
        codes, values = self._factorize(piece)
        # Code -1, of a missing label, finds the True behind the values.
        blank = lacks_label(load_extra("pandas").Series(values))
        require_labels(np.append(blank, True)[codes], name, first)
        for value in values:
            self._code_of.setdefault(value, len(self._code_of))
        if len(self._code_of) > 65_534:
            raise TableError(
                f"column {self._target!r} of {name} and the chunks before it contains "
                f"{len(self._code_of)} different values: it looks like an id, not like a class"
            )

    def finish(self, source: str) -> None:
        """Sort the labels."""
        pandas = load_extra("pandas")
        # Twice each, as few rows of many classes look like an id.
        values = pandas.Series([*self._code_of] * 2)
        labels = check_labels(pandas.DataFrame({self._target: values}), self._target, source)
        self.known, place = np.unique(labels[: len(self._code_of)], return_inverse=True)
        self._code_of = dict(zip(self._code_of, place.tolist(), strict=True))

    def of(self, piece: Any) -> NDArray[np.intp]:
        """Which of the labels each row of a piece of a second reading has; -1 where none."""
        codes, values = self._factorize(piece)
        return np.array([*(self._code_of.get(value, -1) for value in values), -1])[codes]

    def _factorize(self, piece: Any) -> tuple[NDArray[np.intp], Any]:
        found: tuple[NDArray[np.intp], Any] = load_extra("pandas").factorize(
            piece[self._target], use_na_sentinel=True
        )
        return found
