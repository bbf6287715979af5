"""Class shares of rows by the trees that did not see them."""

from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memcpy

from lacforest._tree.criterion cimport GiniCriterion
from lacforest._tree.grower cimport grow_tree
from lacforest._tree.growth cimport GrowthRules, GrowthTable
from lacforest._tree.partition cimport leaves_of_rows
from lacforest._tree.coded_columns cimport fits_narrow_keys
from lacforest._tree.sampling cimport draw_by_word
from lacforest._tree.sets cimport sets_so_far
from lacforest._tree.types cimport (
    CodeTable, Gini, NodeSearch, TreeSets, Workspace, check, row_t
)
from lacforest._tree.workspace cimport GrowingTree, Scratch, ScratchPool, StopSignal

import numpy as np


cdef inline void _add_shares(
    GrowingTree tree, int32_t leaf, double* sums
) noexcept nogil:
    """Add the class shares of a leaf."""
    cdef int32_t n_classes = tree.n_classes
    cdef int32_t row = ~tree.nodes[leaf].left
    cdef const double* counts
    cdef double total = 0.0
    cdef int32_t k
    check(row >= 0)
    if row < n_classes:
        sums[row] += 1.0
        return
    counts = tree.impure + <int64_t> (row - n_classes) * n_classes
    for k in range(n_classes):
        total += counts[k]
    for k in range(n_classes):
        sums[k] += counts[k] / total


cdef inline void _widen_missing_cuts(GrowingTree tree, const CodeTable* table) noexcept nogil:
    """Let cuts between present and missing rows send every value to the side of present rows.

    A value above those that the tree saw is not missing.
    """
    cdef int32_t i, feature
    for i in range(tree.n_nodes):
        if tree.nodes[i].left >= 0:
            feature = tree.nodes[i].feature
            feature = feature if feature >= 0 else ~feature
            if table.is_categorical[feature]:
                continue
            if tree.nodes[i].payload.cut.next == table.n_codes[feature]:
                tree.nodes[i].payload.cut.last = table.n_codes[feature] - 1


cdef inline int64_t _load_sample(
    GrowthTable table,
    Workspace* work,
    const uint64_t* words,
    uint64_t seed,
    const uint64_t* below,
    int64_t* n_drawn_labeled,
) noexcept nogil:
    """Write drawn rows, labelled before unlabelled, then the rows left out in the same order.

    Return how many were drawn.
    """
    cdef int64_t n_labeled = table.n_labeled
    cdef int64_t n_rows = table.columns.table.n_rows
    cdef row_t* left_out = <row_t*> work.spare
    cdef int64_t n_drawn, i
    n_drawn_labeled[0] = draw_by_word(work.rows, left_out, 0, n_labeled, words, seed, below)
    n_drawn = n_drawn_labeled[0] + draw_by_word(
        work.rows + n_drawn_labeled[0], left_out + n_labeled - n_drawn_labeled[0],
        n_labeled, n_rows, words, seed, below,
    )
    memcpy(work.rows + n_drawn, left_out, (n_rows - n_drawn) * sizeof(row_t))
    for i in range(n_drawn):
        work.classes[i] = table.classes[work.rows[i]]
    return n_drawn


def out_of_bag_sums(
    GrowthTable table not None,
    GrowthRules rules not None,
    const uint64_t[::1] words not None,
    const uint64_t[::1] below not None,
    const uint64_t[::1] seeds not None,
    const uint64_t[::1] sample_seeds not None,
    StopSignal stop not None,
    ScratchPool pool not None,
):
    """Grow trees that tell classes apart, and score the rows that each tree left out.

    Parameters
    ----------
    table : GrowthTable
        Rows without weights. Every row may be drawn.
    rules : GrowthRules
        By Gini impurity.
    words : uint64 array of shape (n_rows,)
        With its seed they decide which rows a tree sees.
    below : uint64 array of shape (n_rows,)
        Chance of each row to be seen, times 2**64.
    seeds, sample_seeds : uint64 arrays of shape (n_trees,)
        One stream of draws and one seed of the sample per tree.
    stop : StopSignal
    pool : ScratchPool
        Shared by all blocks of trees.

    Returns
    -------
    sums : float64 array of shape (n_rows, n_classes)
        Class shares in the leaves of a row, summed over the trees that did not see it. A tree
        without a labelled or without an unlabelled row scores none.
    times : int32 array of shape (n_rows,)
        The number of these trees.
    """
    cdef CodeTable* codes = &table.columns.table
    cdef int64_t n_rows = codes.n_rows
    cdef int64_t n_drawn, n_drawn_labeled
    cdef Gini gini
    cdef NodeSearch search
    cdef Scratch scratch
    cdef GrowingTree tree
    cdef Workspace* work
    cdef int32_t* leaf
    cdef TreeSets sets
    cdef int64_t i, j
    cdef row_t row
    if not isinstance(rules.criterion, GiniCriterion) or table.is_weighted:
        raise ValueError("out_of_bag_sums grows by Gini impurity on rows without weights")
    if not (0 < table.n_labeled < n_rows and words.shape[0] == n_rows == below.shape[0]):
        raise ValueError(
            "out_of_bag_sums needs labelled and unlabelled rows, a word and a chance per row"
        )
    if sample_seeds.shape[0] != seeds.shape[0]:
        raise ValueError("out_of_bag_sums needs as many sample_seeds as seeds")
    if rules.values is not None:
        rules.values.check_columns(table.columns)
    rules.limits.check_whole()
    gini = (<GiniCriterion> rules.criterion).rule(table.n_classes)
    sums = np.zeros((n_rows, table.n_classes))
    times = np.zeros(n_rows, dtype=np.int32)
    cdef double[:, ::1] sum_view = sums
    cdef int32_t[::1] time_view = times
    scratch = pool.acquire(
        n_rows,
        codes.n_features,
        table.n_classes,
        fits_narrow_keys(table.columns, table.n_classes),
        table.columns.most_categories,
    )
    tree = scratch.tree
    work = &scratch.work
    work.is_weighted = False
    table.write_rows_per_weight(work.rows_per_weight)
    gini.rows_per_weight = work.rows_per_weight
    search.table = codes
    search.limits = &rules.limits.limits
    search.candidates = rules.candidates
    search.candidates.keep_codes = True
    search.work = work
    for i in range(seeds.shape[0]):
        with nogil:
            n_drawn = _load_sample(
                table, work, &words[0], sample_seeds[i], &below[0], &n_drawn_labeled
            )
            if n_drawn_labeled == 0 or n_drawn_labeled == n_drawn:
                continue
            tree.clear()
            tree.add_nodes(1)
            tree.push(0, n_drawn, 0, 0)
            grow_tree(&gini, &search, tree, seeds[i], stop)
            _widen_missing_cuts(tree, codes)
            # Growing moved the drawn rows alone, and its sort keys are no longer needed.
            leaf = <int32_t*> work.keys
            sets = sets_so_far(tree.sets, codes.is_categorical)
            leaves_of_rows(
                codes, tree.nodes, &sets, work.rows + n_drawn, n_rows - n_drawn, leaf
            )
            for j in range(n_rows - n_drawn):
                row = work.rows[n_drawn + j]
                _add_shares(tree, leaf[j], &sum_view[row, 0])
                time_view[row] += 1
    pool.release(scratch)
    return sums, times
