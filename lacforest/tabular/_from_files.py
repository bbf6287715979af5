"""Fitting a forest on files that need not fit in memory."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from joblib import effective_n_jobs

from lacforest._coding.bins import ColumnBins, find_bins
from lacforest._coding.stored_table import CodeFile, StoredTable
from lacforest._input.parameters import MOST_BINS
from lacforest._input.stacked_source import StackedSource
from lacforest._utils.printable import counted
from lacforest.ensemble.base import BaseLACForest
from lacforest.tabular._coder import TableCoder
from lacforest.tabular._first_pass import FileOptions, FirstPass, TableFile, read_first
from lacforest.tabular.errors import TableError
from lacforest.tabular.fitted_rows import FittedRows, LabeledSketch, UnlabeledSketch
from lacforest.tabular.places import Place

# Interpreter and libraries.
_BASE_BYTES = 300 * 2**20
# Classes, scores and pseudo-labels of a row of the table.
_ROW_BYTES = 48
# Scratch memory of a row of a tree while it grows, and nodes that it leaves in a tree.
_SCRATCH_BYTES = 16
_NODE_BYTES = 24
# Trees on fewer rows than this are of no use on tables that need this module.
_FEWEST_ROWS = 10_000


def rows_per_tree(max_memory: int, n_rows: int, n_trees: int, n_jobs: int | None) -> int:
    """Most rows of a tree such that the fit stays within `max_memory` bytes."""
    threads: int = effective_n_jobs(n_jobs)
    per_row = _SCRATCH_BYTES * threads + _NODE_BYTES * n_trees
    fixed = _BASE_BYTES + max_memory // 8 + _ROW_BYTES * n_rows
    if fixed + per_row * min(n_rows, _FEWEST_ROWS) > max_memory:
        needed = (_BASE_BYTES + _ROW_BYTES * n_rows + per_row * _FEWEST_ROWS) * 8 / 7
        raise TableError(
            f"a fit of {n_trees} trees on {n_rows} rows needs {needed / 2**20:.0f} MiB, but "
            f"max_memory allows {max_memory / 2**20:.0f}: allow more, or grow fewer trees"
        )
    return min(n_rows, (max_memory - fixed) // per_row)


def _bins_of(coder: TableCoder, found: FirstPass) -> list[ColumnBins]:
    """Bins of every feature: from all rows where values are few, else from the sample."""
    sample = np.vstack([coder.encode(frame) for frame in found.samples])
    owners = [column for column in coder.columns_ for _ in column.feature_names]
    bins = []
    for column, values in zip(owners, sample.T, strict=True):
        if column.kind == "number" and column.name in found.distinct:
            bins.append(ColumnBins(found.distinct[column.name], None))
        elif column.kind == "number":
            bins.append(ColumnBins.of(values[~np.isnan(values)], MOST_BINS))
        elif column.coding == "native" and len(column.categories) <= MOST_BINS:
            bins.append(ColumnBins(np.arange(len(column.categories), dtype=np.float64), None))
        else:
            # Codes of categories; texts outside the sample count as missing.
            bins.append(find_bins(values, MOST_BINS, None))
    return bins


def set_categories(forest: BaseLACForest, coder: TableCoder) -> None:
    """Tell the forest which features of a fitted coder hold native categories."""
    if coder.options.categories == "native":
        chosen = np.flatnonzero(coder.n_categories).tolist()
        forest.set_params(categorical_features=chosen or None)


@contextmanager
def coded_files(
    coder: TableCoder,
    places: tuple[Sequence[Place], Sequence[Place]],
    target: str,
    max_memory: int,
    folder: str | os.PathLike[str] | None = None,
    encoding: str = "utf-8",
) -> Iterator[tuple[StackedSource, FittedRows]]:
    """Fit the coder, and hold the rows of both files as codes while the context lasts.

    What recognises the unlabelled rows later comes with them.

    Parameters
    ----------
    coder : TableCoder
        Fitted here, on a sample of rows.
    places : pair of sequences of Place
        The files of labelled and of unlabelled rows.
    target : str
        The column of labels.
    max_memory : int
        Bytes, which determine how many rows are read at a time.
    folder : path or None
        Where the codes are written.
    encoding : str
        Encoding of CSV files.
    """
    wanted = coder.options
    options = FileOptions(wanted.text, wanted.missing, encoding, max_memory, wanted.advice)
    labeled = TableFile(places[0], options, wanted.drop)
    unlabeled = TableFile(places[1], options, (*wanted.drop, target))
    found = read_first(labeled, target, unlabeled, wanted)
    if found.n_unlabeled < 2:
        raise TableError(
            f"{unlabeled.name} has {counted(found.n_unlabeled, 'unlabelled row')}, and at least "
            "two are needed"
        )
    # With empty columns in place of those that were not read: the coder notes why.
    samples = [
        frame.reindex(columns=own.columns)
        for frame, own in zip(found.samples, (labeled, unlabeled), strict=True)
    ]
    coder.fit(samples[0], samples[1], target, (labeled.name, unlabeled.name))
    bins = _bins_of(coder, found)
    n_rows = found.n_labeled + found.n_unlabeled
    file = CodeFile(folder, len(bins), n_rows)
    try:
        has_missing = np.zeros(len(bins), dtype=bool)
        codes, first = np.full(found.n_labeled, -1), 0
        known_rows, other_rows = LabeledSketch(), UnlabeledSketch()
        for own, n_own in ((labeled, found.n_labeled), (unlabeled, found.n_unlabeled)):
            end = first + n_own
            for name, piece in own.pieces(without=[target] if own is unlabeled else []):
                if first + len(piece) > end:
                    raise _changed(own.name, n_own)
                X = coder.encode(piece, source=name)
                if own is labeled:
                    codes[first : first + len(piece)] = found.labels.of(piece)
                    known_rows = known_rows.merge(LabeledSketch.of(X))
                else:
                    other_rows = other_rows.merge(UnlabeledSketch.of(X, known_rows))
                has_missing |= file.write(first, X, bins)
                first += len(piece)
            if first != end:
                raise _changed(own.name, n_own)
        known = found.labels.known
        if not np.array_equal(np.unique(codes), np.arange(len(known))):
            raise TableError(f"{labeled.name} changed while it was read: it has other labels now")
        # Codes of one byte hold no more categories; columns with more are cut as numbers.
        n_categories = [n if n <= MOST_BINS else 0 for n in coder.n_categories]
        table = StoredTable(file.codes, bins, has_missing.tolist(), tuple(n_categories))
        source = StackedSource(table, known, codes, coder.feature_names)
        yield source, FittedRows.of_sketches(known_rows, other_rows)
    finally:
        file.close()


def _changed(name: str, n_rows: int) -> TableError:
    """Of a file whose second reading gives another number of rows."""
    return TableError(f"{name} changed while it was read: it had {n_rows} rows, and has others now")


def fit_source(forest: BaseLACForest, source: Any, max_memory: int) -> None:
    """Grow a forest on coded rows, each tree on as many as memory allows."""
    if forest.max_bins is None:
        raise ValueError(
            "max_bins=None keeps all values of a column apart, but files are coded by at most 255 "
            'bins: leave max_bins at "auto"'
        )
    n_rows = source.table.n_rows
    n_trees = forest._n_trees(n_rows) + getattr(forest, "n_explorers", 0)
    most = rows_per_tree(max_memory, n_rows, n_trees, forest.n_jobs)
    if forest.max_samples is None and most < n_rows:
        forest.set_params(max_samples=int(most))
    forest.fit(source, source.codes)
    del forest.feature_names_in_
