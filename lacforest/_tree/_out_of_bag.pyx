"""Scores of rows by the trees that did not see them: how unlabelled does a row look?"""

from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memcpy

from lacforest._tree._buffers cimport GrowingTree, Scratch, StopSignal
from lacforest._tree._builder cimport fits_narrow_keys, grow_tree, take_bench
from lacforest._tree._partition cimport leaves_of_rows
from lacforest._tree._ranks cimport CodedColumns
from lacforest._tree._sampling cimport draw_by_key
from lacforest._tree._types cimport CodeTable, Limits, Workspace, check, row_t

import numpy as np


cdef enum:
    LABELED = 0
    UNLABELED = 1
    N_SIDES = 2


cdef inline double _unlabeled_share(GrowingTree tree, int32_t leaf) noexcept nogil:
    """Share of unlabelled rows in a leaf that _close_leaf wrote."""
    cdef int32_t row = ~tree.nodes[leaf].left
    cdef const double* counts
    check(row >= 0)
    if row < N_SIDES:
        return <double> row
    counts = tree.impure + <int64_t> (row - N_SIDES) * N_SIDES
    return counts[UNLABELED] / (counts[LABELED] + counts[UNLABELED])


cdef inline void _keep_values_apart(GrowingTree tree, const CodeTable* table) noexcept nogil:
    """Widen cuts between present and missing rows to all values.

    A value above those that the tree saw is still a value, not missing.
    """
    cdef int32_t i, feature
    for i in range(tree.n_nodes):
        if tree.nodes[i].left >= 0:
            feature = tree.nodes[i].feature
            feature = feature if feature >= 0 else ~feature
            if tree.nodes[i].key.cut.next == table.n_codes[feature]:
                tree.nodes[i].key.cut.last = table.n_codes[feature] - 1


cdef inline int64_t _seat_sample(
    Workspace* work,
    int64_t n_labeled,
    int64_t n_rows,
    const uint64_t* keys,
    uint64_t seed,
    const uint64_t* below,
    int64_t* n_drawn_labeled,
) noexcept nogil:
    """Drawn rows first, labelled before unlabelled, then the rows left out in the same order.

    Returns how many were drawn.
    """
    cdef row_t* left_out = <row_t*> work.spare
    cdef int64_t n_drawn, i
    n_drawn_labeled[0] = draw_by_key(
        work.rows, left_out, 0, n_labeled, keys, seed, below[LABELED]
    )
    n_drawn = n_drawn_labeled[0] + draw_by_key(
        work.rows + n_drawn_labeled[0], left_out + n_labeled - n_drawn_labeled[0],
        n_labeled, n_rows, keys, seed, below[UNLABELED],
    )
    memcpy(work.rows + n_drawn, left_out, (n_rows - n_drawn) * sizeof(row_t))
    for i in range(n_drawn):
        work.classes[i] = LABELED if i < n_drawn_labeled[0] else UNLABELED
    return n_drawn


def out_of_bag_sums(
    CodedColumns columns,
    int64_t n_labeled,
    const uint64_t[::1] keys,
    const uint64_t[::1] below,
    dict limits,
    const uint64_t[::1] seeds,
    const uint64_t[::1] sample_seeds,
    StopSignal stop,
    list benches,
):
    """Grow trees that tell unlabelled from labelled rows, and score the rows each left out.

    Parameters
    ----------
    columns : CodedColumns
    n_labeled : int
        Rows [0, n_labeled) are labelled, all others unlabelled.
    keys : uint64 array of shape (n_rows,)
        What decides, with the seed, whether a tree sees a row.
    below : uint64 array of shape (2,)
        Chance of a labelled and of an unlabelled row to be seen, times 2**64.
    limits : dict
        The fields of ``Limits``.
    seeds, sample_seeds : uint64 arrays of shape (n_trees,)
        Streams of feature draws and seeds of samples, one each a tree.
    stop : StopSignal
    benches : list
        As in ``grow_trees``.

    Returns
    -------
    sums : float64 array of shape (n_rows,)
        Shares of unlabelled rows in the leaves a row fell into, over trees that did not see it. A
        tree that drew no labelled or no unlabelled row scores none.
    times : int32 array of shape (n_rows,)
        How many trees these were.
    """
    cdef int64_t n_rows = columns.table.n_rows
    cdef int64_t n_drawn, n_drawn_labeled
    cdef Limits rules = limits
    cdef bint narrow = fits_narrow_keys(columns, N_SIDES)
    cdef Scratch scratch
    cdef GrowingTree tree
    cdef Workspace* work
    cdef int32_t* leaf
    cdef int64_t i, j
    cdef row_t row
    if not (0 < n_labeled < n_rows and keys.shape[0] == n_rows and below.shape[0] == N_SIDES):
        raise ValueError("out_of_bag_sums needs rows of both sides, and a key for each")
    if sample_seeds.shape[0] != seeds.shape[0]:
        raise ValueError("out_of_bag_sums needs two seeds a tree")
    sums = np.zeros(n_rows)
    times = np.zeros(n_rows, dtype=np.int32)
    cdef double[::1] sum_view = sums
    cdef int32_t[::1] time_view = times
    scratch, tree = take_bench(benches, n_rows, columns.table.n_features, N_SIDES, narrow)
    work = &scratch.work
    work.weight = NULL
    for i in range(seeds.shape[0]):
        with nogil:
            n_drawn = _seat_sample(
                work, n_labeled, n_rows, &keys[0], sample_seeds[i], &below[0], &n_drawn_labeled
            )
            if n_drawn_labeled == 0 or n_drawn_labeled == n_drawn:
                continue
            tree.clear()
            tree.add_nodes(1)
            tree.push(0, n_drawn, 0, 0)
            grow_tree(NULL, NULL, narrow, &columns.table, &rules, work, tree, seeds[i], stop)
            _keep_values_apart(tree, &columns.table)
            # Growing moved the drawn rows alone, and its keys are done with.
            leaf = <int32_t*> work.keys
            leaves_of_rows(
                &columns.table, tree.nodes, work.rows + n_drawn, n_rows - n_drawn, leaf
            )
            for j in range(n_rows - n_drawn):
                row = work.rows[n_drawn + j]
                sum_view[row] += _unlabeled_share(tree, leaf[j])
                time_view[row] += 1
    benches.append((scratch, tree))
    return sums, times
