"""Out-of-bag scores by forests on rank codes."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import pairwise

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray

from lacforest._coding.coded_table import CodedTable
from lacforest._input.training_data import TrainingRows
from lacforest._tree.coded_columns import CodedColumns
from lacforest._tree.criterion import GiniCriterion
from lacforest._tree.growth import GrowthRules, GrowthTable, TreeLimits
from lacforest._tree.out_of_bag import out_of_bag_sums
from lacforest._tree.workspace import ScratchPool, StopSignal
from lacforest._utils.progress import tell
from lacforest._utils.threads import in_threads, spans
from lacforest.mixture._shares import ClassScores

N_TREES = 200
# With 500 rows on the smaller side, the error of theta is flat between leaves of 3 and 20 rows, and
# larger leaves are cheaper. With far fewer rows, leaves of 10 are too coarse: a thirtieth of the
# smaller side, but at least 2 rows. From 300 rows on, leaves have 10.
MAX_LEAF = 10
_MIN_LEAF = 2
_LEAVES_PER_SIDE = 30
# Share of the smaller side that a tree sees, which is what a bootstrap sample holds of it.
SAMPLE_SHARE = 0.632
# More rows make trees slower and scores no better: the rows left out are scored all the same.
MAX_SAMPLE = 4_000
# Sums of blocks are added in order, and the blocks do not depend on the number of threads: the
# bits are the same for any.
_N_BLOCKS = 16
# Weighted rows are drawn in proportion to their weight, but none by more trees than this share.
MOST_SEEN = 0.8
# The trees that tell all classes apart.
N_CLASS_TREES = 150
MIN_CLASS_LEAF = 3
# Blocks of them (18 trees) by which most fits already see that no share has moved.
_FIRST_BLOCKS = 2
# The trees that score the other half of the rows.
N_HALF_TREES = 50


def row_words(columns: CodedColumns, first: int, end: int) -> NDArray[np.uint64]:
    """Words that tell rows apart by what they hold, and equal rows by counting them.

    Samples drawn by them do not depend on the order of rows.
    """
    words = np.zeros(end - first, dtype=np.uint64)
    for codes in columns.columns:
        words ^= codes[first:end]
        words *= np.uint64(0x9E3779B97F4A7C15)
        words ^= words >> np.uint64(32)
    order = np.argsort(words, kind="stable")
    ordered = words[order]
    starts = np.flatnonzero(np.append(True, ordered[1:] != ordered[:-1]))
    sizes = np.diff(np.append(starts, len(words)))
    place = np.arange(len(words)) - np.repeat(starts, sizes)
    words[order] ^= place.astype(np.uint64) * np.uint64(0xD1B54A32D192ED03)
    return words


def leaf_size(n_smaller: int) -> int:
    """Fewest rows of a leaf, by the rows of the smaller side."""
    return min(max(n_smaller // _LEAVES_PER_SIDE, _MIN_LEAF), MAX_LEAF)


def forest_scores(
    columns: CodedColumns,
    n_labeled: int,
    seed: int,
    n_jobs: int | None,
    weight: NDArray[np.float64] | None = None,
) -> NDArray[np.float64]:
    """Mean share of unlabelled rows in the leaves of the trees that did not see the row.

    Every tree sees about as many labelled as unlabelled rows, so the sizes of the two sides carry
    no information. It grows by Gini impurity on ``floor(sqrt(d))`` features per node.

    Parameters
    ----------
    columns : CodedColumns
    n_labeled : int
        Rows [0, n_labeled) are labelled, all others unlabelled.
    seed : int
    n_jobs : int or None
    weight : float64 array of shape (n_labeled,), optional
        Weights of labelled rows: heavier rows are drawn more often.

    Returns
    -------
    float64 array of shape (n_rows,)
    """
    n_rows = len(columns.columns[0])
    n_sides = np.array([n_labeled, n_rows - n_labeled])
    relative = np.ones(n_labeled) if weight is None else weight * (n_labeled / weight.sum())
    n_drawn = min(SAMPLE_SHARE * n_sides.min(), MAX_SAMPLE, MOST_SEEN * n_labeled / relative.max())
    chance = np.concatenate(
        [n_drawn / n_labeled * relative, np.full(n_sides[1], n_drawn / n_sides[1])]
    )
    classes, _ = _unlabeled_side(n_labeled, n_rows)
    rules = GrowthRules(GiniCriterion(), _limits(columns, leaf_size(int(n_sides.min()))))
    table = GrowthTable(
        columns, classes, np.ones(n_rows, dtype=np.uint8), n_labeled=n_labeled, n_classes=2
    )
    sums, times = next(_sum_out_of_bag(table, rules, chance, N_TREES, seed, n_jobs))
    # A row that no tree left out is possible only in samples of a few rows.
    return np.where(times > 0, sums[:, 1] / np.maximum(times, 1), 0.5)


def half_scores(
    columns: CodedColumns, n_labeled: int, seed: int, n_jobs: int | None
) -> tuple[NDArray[np.bool_], NDArray[np.float64]]:
    """Divide the rows into random halves, and score each by trees that saw the other one only.

    Halves depend on what rows hold, not on their order.

    Returns
    -------
    in_second : bool array of shape (n_rows,)
    scores : float64 array of shape (n_rows,)
        Mean share of unlabelled rows in the leaves that a row reaches.
    """
    n_rows = len(columns.columns[0])
    classes, sides = _unlabeled_side(n_labeled, n_rows)
    words = np.concatenate([row_words(columns, first, end) for first, end in sides])
    half_seed, *seeds = np.random.SeedSequence(seed).generate_state(3, np.uint64).tolist()
    mixed = (words ^ np.uint64(half_seed)) * np.uint64(0x9E3779B97F4A7C15)
    mixed = (mixed ^ (mixed >> np.uint64(32))) * np.uint64(0xD1B54A32D192ED03)
    in_second = (mixed >> np.uint64(63)).astype(np.bool_)
    scores = np.empty(n_rows)
    for seen, own_seed in ((~in_second, seeds[0]), (in_second, seeds[1])):
        n_seen = np.bincount(classes[seen], minlength=2)
        n_drawn = min(SAMPLE_SHARE * n_seen.min(), MAX_SAMPLE)
        chance = np.where(seen, (n_drawn / np.maximum(n_seen, 1))[classes], 0.0)
        rules = GrowthRules(GiniCriterion(), _limits(columns, leaf_size(int(n_seen.min()))))
        table = GrowthTable(
            columns, classes, np.ones(n_rows, dtype=np.uint8), n_labeled=n_labeled, n_classes=2
        )
        own = _sum_out_of_bag(table, rules, chance, N_HALF_TREES, int(own_seed), n_jobs)
        sums, times = next(own)
        scores[~seen] = (sums[:, 1] / np.maximum(times, 1))[~seen]
    return in_second, scores


def class_scores(
    rows: TrainingRows, coded: CodedTable, seed: int, n_jobs: int | None
) -> Iterator[ClassScores]:
    """Class probabilities of all rows by trees that did not see them; "unlabelled" is a class.

    Extremely randomised trees, which see at most twice as many unlabelled as labelled rows. First
    come the probabilities by some of the trees, then those by all: the other trees grow only if the
    caller asks for them.
    """
    n_rows, n_labeled = rows.table.n_rows, rows.n_labeled
    n_drawn = min(SAMPLE_SHARE * n_labeled, MAX_SAMPLE)
    n_drawn_unlabeled = min(SAMPLE_SHARE * rows.n_unlabeled, 2 * n_drawn)
    chance = np.repeat(
        [n_drawn / n_labeled, n_drawn_unlabeled / rows.n_unlabeled], [n_labeled, rows.n_unlabeled]
    )
    rules = GrowthRules.with_random_cuts(
        GiniCriterion(), _limits(coded.columns, MIN_CLASS_LEAF), coded.values
    )
    table = GrowthTable(
        coded.columns,
        rows.classes,
        np.ones(n_rows, dtype=np.uint8),
        n_labeled=n_labeled,
        n_classes=rows.n_known + 1,
    )
    weight = np.ones(n_labeled) if rows.sampling_weight is None else rows.sampling_weight
    classes = rows.classes[:n_labeled].astype(np.intp)
    stops = (_FIRST_BLOCKS, _N_BLOCKS)
    for sums, times in _sum_out_of_bag(table, rules, chance, N_CLASS_TREES, seed, n_jobs, stops):
        shares = np.full(sums.shape, 1.0 / sums.shape[1])
        np.divide(sums, times[:, None], out=shares, where=times[:, None] > 0)
        yield ClassScores(shares[:n_labeled], shares[n_labeled:], classes, weight)


def _unlabeled_side(
    n_labeled: int, n_rows: int
) -> tuple[NDArray[np.uint16], tuple[tuple[int, int], tuple[int, int]]]:
    """Class 1 for unlabelled rows, and the first and last row of each side."""
    classes = (np.arange(n_rows) >= n_labeled).astype(np.uint16)
    return classes, ((0, n_labeled), (n_labeled, n_rows))


def _limits(columns: CodedColumns, min_leaf: int) -> TreeLimits:
    return TreeLimits(
        max_features=max(1, int(np.sqrt(len(columns.n_codes)))),
        min_leaf=min_leaf,
        draw_until_feasible=True,
    )


def _sum_out_of_bag(
    table: GrowthTable,
    rules: GrowthRules,
    chance: NDArray[np.float64],
    n_trees: int,
    seed: int,
    n_jobs: int | None,
    stops: Sequence[int] = (_N_BLOCKS,),
) -> Iterator[tuple[NDArray[np.float64], NDArray[np.int64]]]:
    """Sums of class shares and the number of trees that scored each row.

    Trees grow in blocks. The sums over all trees so far are yielded after each of these numbers of
    blocks; they are the same arrays every time.
    """
    columns, n_labeled = table.columns, table.n_labeled
    n_rows = len(columns.columns[0])
    below = (chance * 2.0**64).astype(np.uint64)
    sides = ((0, n_labeled), (n_labeled, n_rows))
    words = np.concatenate([row_words(columns, first, end) for first, end in sides])
    streams = np.random.SeedSequence(seed).generate_state(2 * n_trees, np.uint64)
    seeds, sample_seeds = np.ascontiguousarray(streams.reshape(n_trees, 2).T)
    blocks = spans(n_trees, _N_BLOCKS)
    stop = StopSignal()
    pool = ScratchPool()
    calls = [
        (table, rules, words, below, seeds[first:end], sample_seeds[first:end], stop, pool)
        for first, end in blocks
    ]
    sums = np.zeros((n_rows, table.n_classes))
    times = np.zeros(n_rows, dtype=np.int64)
    for done, until in pairwise((0, *stops)):
        try:
            found = in_threads(out_of_bag_sums, calls[done:until], effective_n_jobs(n_jobs))
            for (_, end), part in zip(blocks[done:until], found, strict=True):
                sums += part[0]
                times += part[1]
                tell("estimating theta", end, n_trees)
        except BaseException:
            stop.request()
            raise
        yield sums, times
