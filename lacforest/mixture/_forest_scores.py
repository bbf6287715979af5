"""Out-of-bag scores by a forest on rank codes, on how unlabelled a row looks."""

from __future__ import annotations

from typing import Any

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from lacforest._threads import in_threads, spans
from lacforest._tree._buffers import StopSignal
from lacforest._tree._out_of_bag import out_of_bag_sums
from lacforest._tree._ranks import CodedColumns
from lacforest._watching import tell

N_TREES = 200
# Flat between 3 and 20 rows; larger leaves are cheaper.
MIN_SAMPLES_LEAF = 10
# Share of the smaller side that a tree sees, which is what a bootstrap sample holds of it.
SAMPLE_SHARE = 0.632
# More rows make trees slower and scores no better: the rows left out are scored all the same.
MAX_SAMPLE = 4_000
# Sums of blocks are added in order, and the blocks do not depend on the number of threads: the
# bits are the same for any.
_N_BLOCKS = 16
_NO_LIMIT = 2**31 - 1


def _row_keys(columns: CodedColumns, first: int, end: int) -> NDArray[np.uint64]:
    """Words that tell rows apart by what they hold, and equal rows by counting them.

    Samples drawn by them do not depend on the order of rows.
    """
    keys = np.zeros(end - first, dtype=np.uint64)
    for codes in columns.columns:
        keys ^= codes[first:end]
        keys *= np.uint64(0x9E3779B97F4A7C15)
        keys ^= keys >> np.uint64(32)
    order = np.argsort(keys, kind="stable")
    ordered = keys[order]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    sizes = np.diff(np.append(starts, len(keys)))
    place = np.arange(len(keys)) - np.repeat(starts, sizes)
    keys[order] ^= place.astype(np.uint64) * np.uint64(0xD1B54A32D192ED03)
    return keys


def forest_scores(
    columns: CodedColumns, n_labeled: int, seed: int, n_jobs: int | None
) -> NDArray[np.float64]:
    """Mean share of unlabelled rows in the leaves of the trees that did not see the row.

    Every tree sees about as many labelled as unlabelled rows, so that neither side's size tells
    anything. It grows by Gini impurity on ``floor(sqrt(d))`` features a node.

    Parameters
    ----------
    columns : CodedColumns
    n_labeled : int
        Rows [0, n_labeled) are labelled, all others unlabelled.
    seed : int
    n_jobs : int or None

    Returns
    -------
    float64 array of shape (n_rows,)
    """
    n_rows = len(columns.columns[0])
    n_sides = np.array([n_labeled, n_rows - n_labeled])
    n_drawn = min(SAMPLE_SHARE * n_sides.min(), MAX_SAMPLE)
    below = (n_drawn / n_sides * 2.0**64).astype(np.uint64)
    keys = np.concatenate([_row_keys(columns, 0, n_labeled), _row_keys(columns, n_labeled, n_rows)])
    words = np.random.SeedSequence(seed).generate_state(2 * N_TREES, np.uint64)
    seeds, sample_seeds = np.ascontiguousarray(words.reshape(N_TREES, 2).T)
    limits = {
        "min_labeled": 0,
        "min_unlabeled": 0,
        "min_leaf": MIN_SAMPLES_LEAF,
        "min_split": 2,
        "max_depth": _NO_LIMIT,
        "max_features": max(1, int(np.sqrt(len(columns.n_codes)))),
        "search_on": True,
    }
    blocks = spans(N_TREES, _N_BLOCKS)
    stop = StopSignal()
    benches: list[Any] = []
    calls = [
        (
            columns,
            n_labeled,
            keys,
            below,
            limits,
            seeds[first:end],
            sample_seeds[first:end],
            stop,
            benches,
        )
        for first, end in blocks
    ]
    sums = np.zeros(n_rows)
    times = np.zeros(n_rows, dtype=np.int64)
    try:
        found = in_threads(out_of_bag_sums, calls, effective_n_jobs(n_jobs))
        for (_, end), (block_sums, block_times) in zip(blocks, found, strict=True):
            sums += block_sums
            times += block_times
            tell("estimating theta", end, N_TREES)
    except BaseException:
        stop.request()
        raise
    # A row that no tree left out is possible only in samples of a few rows.
    return np.where(times > 0, sums / np.maximum(times, 1), 0.5)
