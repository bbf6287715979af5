"""One grow loop for both phases, and the blocks of trees that threads run."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from cpython.exc cimport PyErr_CheckSignals

from lacforest._tree._buffers cimport GrowingTree, Scratch, StopSignal
from lacforest._tree._criterion cimport (
    AugmentedGiniCriterion, GiniCriterion, is_settled, side_loss
)
from lacforest._tree._keys cimport bit_length, row_amount
from lacforest._tree._partition cimport reseed_by_leaf, split
from lacforest._tree._ranks cimport CodedColumns, ColumnValues
from lacforest._tree._sampling cimport draw_with_replacement
from lacforest._tree._splitter cimport best_split
from lacforest._tree._types cimport (
    AugmentedGini, CodeTable, EveryCut, Gini, Limits, Node, RandomCut, Slice, Split, Workspace,
    check, class_t, count_t, criterion_t, policy_t, row_t
)

import numpy as np

# Rows searched between two looks for Ctrl-C: some tens of milliseconds.
cdef int64_t POLL_EVERY = 1 << 22


cdef inline void _count_node(
    const criterion_t* criterion,
    Workspace* work,
    int64_t start,
    int64_t end,
    count_t* n_labeled,
    count_t* n_unlabeled,
    count_t* sum_squares,
) noexcept nogil:
    """Class counts of rows[start:end] and their sums as the criterion sees them."""
    cdef count_t* counts = <count_t*> work.node_counts
    cdef int32_t last = work.n_classes - 1
    cdef int64_t i
    cdef int32_t k
    memset(counts, 0, work.n_classes * sizeof(count_t))
    for i in range(start, end):
        check(work.classes[i] <= last)
        counts[work.classes[i]] += row_amount(work, i, <count_t> 0)
    n_labeled[0] = 0
    sum_squares[0] = 0
    for k in range(last):
        n_labeled[0] += counts[k]
        sum_squares[0] += counts[k] * counts[k]
    n_unlabeled[0] = counts[last]
    if criterion_t is Gini:
        n_labeled[0] += counts[last]
        sum_squares[0] += counts[last] * counts[last]
        n_unlabeled[0] = 0


cdef int _close_leaf(
    const criterion_t* criterion, GrowingTree tree, Workspace* work, int32_t node, count_t n_rows
) except -1 nogil:
    """Record what a leaf holds: row k of leaf_values if all its rows are of class k, else row
    n_classes + i for row i of the tree's impure leaves. Leaves of phase 1 stay open to phase 2.
    """
    cdef const count_t* counts = <const count_t*> work.node_counts
    cdef int32_t n_present = 0
    cdef int32_t k, last_present
    cdef double* row
    tree.nodes[node].feature = 0
    tree.nodes[node].left = -1
    tree.nodes[node].key.n_rows = <double> n_rows
    if criterion_t is Gini:
        last_present = 0
        for k in range(work.n_classes):
            if counts[k] > 0:
                n_present += 1
                last_present = k
        if n_present == 0:
            # Unlabelled rows came here in Step I (gamma = 0), and none got a pseudo-label. All that
            # is known of the leaf is Definition 1: no labelled row, so it is new.
            last_present = work.n_classes - 1
        if n_present <= 1:
            tree.nodes[node].left = ~last_present
        else:
            row = tree.add_impure()
            for k in range(work.n_classes):
                row[k] = <double> counts[k]
            tree.nodes[node].left = ~(work.n_classes + tree.n_impure - 1)
    return 0


cdef int _grow(
    const criterion_t* criterion,
    const policy_t* policy,
    const CodeTable* table,
    const Limits* limits,
    Workspace* work,
    GrowingTree tree,
    uint64_t random_state,
    StopSignal stop,
    count_t tag,
) except -1 nogil:
    """Grow every open slice of the tree until nothing is left to split.

    Children are numbered when their parent splits, left before right, and the left subtree is
    grown first: child ids exceed parent ids, and draws are used in depth-first order.
    """
    cdef Slice here
    cdef Split best
    cdef count_t n_labeled, n_unlabeled, sum_squares
    cdef int64_t middle
    cdef int64_t n_since_poll = 0
    cdef int32_t left, feature
    for feature in range(table.n_features):
        work.features[feature] = feature
    while tree.n_open > 0:
        tree.n_open -= 1
        here = tree.stack[tree.n_open]
        check(0 <= here.start <= here.end and here.node < tree.n_nodes)
        n_since_poll += limits.max_features * (here.end - here.start) + 1
        if stop.requested or n_since_poll > POLL_EVERY:
            n_since_poll = 0
            with gil:
                PyErr_CheckSignals()
                if stop.requested:
                    raise InterruptedError("the fit was stopped")

        _count_node(
            criterion, work, here.start, here.end, &n_labeled, &n_unlabeled, &sum_squares
        )
        if criterion_t is AugmentedGini:
            tree.counts[2 * here.node] = <double> n_labeled
            tree.counts[2 * here.node + 1] = <double> n_unlabeled
        best.feature = -1
        if (
            here.depth < limits.max_depth
            and n_labeled + n_unlabeled >= <count_t> limits.min_split
            and n_labeled + n_unlabeled >= 2 * <count_t> limits.min_leaf
            and not is_settled(criterion, n_labeled, n_unlabeled, sum_squares)
        ):
            best = best_split(
                criterion, policy, table, limits, work, here.start, here.end,
                n_labeled, n_unlabeled, sum_squares, &random_state,
            )
        if best.feature < 0:
            _close_leaf(criterion, tree, work, here.node, n_labeled + n_unlabeled)
            continue

        middle = split(table, work, here.start, here.end, &best)
        left = tree.add_nodes(2)
        tree.nodes[here.node].feature = best.feature if best.missing_left else ~best.feature
        tree.nodes[here.node].left = left
        if policy_t is EveryCut:
            tree.nodes[here.node].key.cut.last = best.cut
            tree.nodes[here.node].key.cut.next = best.next
        else:
            tree.nodes[here.node].key.threshold = best.threshold
        tree.importances[best.feature] += (
            side_loss(criterion, <double> n_labeled, <double> n_unlabeled, <double> sum_squares)
            - best.loss
        )
        tree.push(middle, here.end, left + 1, here.depth + 1)
        tree.push(here.start, middle, left, here.depth + 1)
    return 0


cdef int _grow_by(
    const criterion_t* criterion,
    const RandomCut* random,
    bint narrow,
    const CodeTable* table,
    const Limits* limits,
    Workspace* work,
    GrowingTree tree,
    uint64_t seed,
    StopSignal stop,
) except -1 nogil:
    """The grow loop compiled for this policy and these counts."""
    cdef EveryCut every
    every.nothing = False
    if random != NULL and narrow:
        _grow[criterion_t, RandomCut, int64_t](
            criterion, random, table, limits, work, tree, seed, stop, 0
        )
    elif random != NULL:
        _grow[criterion_t, RandomCut, double](
            criterion, random, table, limits, work, tree, seed, stop, 0
        )
    elif narrow:
        _grow[criterion_t, EveryCut, int64_t](
            criterion, &every, table, limits, work, tree, seed, stop, 0
        )
    else:
        _grow[criterion_t, EveryCut, double](
            criterion, &every, table, limits, work, tree, seed, stop, 0
        )
    return 0


cdef int grow_tree(
    const AugmentedGini* augmented,
    const RandomCut* random,
    bint narrow,
    const CodeTable* table,
    const Limits* limits,
    Workspace* work,
    GrowingTree tree,
    uint64_t seed,
    StopSignal stop,
) except -1 nogil:
    cdef Gini plain
    plain.n_known = <class_t> (work.n_classes - 1)
    if augmented != NULL:
        _grow_by[AugmentedGini](augmented, random, narrow, table, limits, work, tree, seed, stop)
    else:
        _grow_by[Gini](&plain, random, narrow, table, limits, work, tree, seed, stop)
    return 0


cdef bint fits_narrow_keys(CodedColumns columns, int32_t n_classes) except -1:
    cdef int32_t most_codes = <int32_t> bit_length(<uint32_t> columns.n_codes.max())
    # One bit stays free so that keys compare as signed integers, which SSE2 can.
    return most_codes + bit_length(n_classes - 1) <= 31


cdef tuple take_bench(
    list benches, int64_t n_rows, int32_t n_features, int32_t n_classes, bint narrow
):
    try:
        return benches.pop()
    except IndexError:
        return (
            Scratch(n_rows, n_features, n_classes, narrow), GrowingTree(n_classes, n_features)
        )


cdef int64_t _seat_rows(
    Workspace* work,
    int64_t n_labeled,
    int64_t n_rows,
    const class_t* classes,
    const uint8_t* taking_part,
    bint bootstrap,
    uint64_t sample_state,
) noexcept nogil:
    """Write the rows of one tree and their classes; returns how many there are.

    The labelled and the unlabelled rows are drawn apart, so that both totals stay what they are.
    A row without a part in this phase is dropped after the draw: both phases see one sample.
    """
    cdef int64_t n_drawn, i
    cdef int64_t n_seated = 0
    if bootstrap:
        n_drawn = draw_with_replacement(
            work.rows, 0, n_labeled, &sample_state, <uint32_t*> work.keys
        )
        n_drawn += draw_with_replacement(
            work.rows + n_drawn, n_labeled, n_rows, &sample_state, <uint32_t*> work.keys
        )
    else:
        n_drawn = n_rows
        for i in range(n_rows):
            work.rows[i] = <row_t> i
    for i in range(n_drawn):
        if taking_part[work.rows[i]]:
            work.rows[n_seated] = work.rows[i]
            work.classes[n_seated] = classes[work.rows[i]]
            n_seated += 1
    return n_seated


cdef int _open_slices(
    const CodeTable* table,
    GrowingTree tree,
    Workspace* work,
    int64_t n_rows,
    const uint8_t[::1] explored,
) except -1 nogil:
    """Open the root, or every leaf of a tree that phase 1 grew."""
    cdef int32_t n_nodes, node
    cdef int64_t* leaf_start
    cdef int32_t* depth
    tree.clear()
    if explored is None:
        tree.add_nodes(1)
        tree.push(0, n_rows, 0, 0)
        return 0

    n_nodes = <int32_t> (explored.shape[0] // <int64_t> sizeof(Node))
    tree.add_nodes(n_nodes)
    memcpy(tree.nodes, &explored[0], n_nodes * sizeof(Node))
    leaf_start = <int64_t*> malloc((n_nodes + 1) * sizeof(int64_t))
    depth = <int32_t*> malloc(n_nodes * sizeof(int32_t))
    try:
        if not leaf_start or not depth:
            with gil:
                raise MemoryError("no memory to seat rows in leaves")
        reseed_by_leaf(table, work, n_rows, tree.nodes, n_nodes, leaf_start)
        depth[0] = 0
        for node in range(n_nodes):
            if tree.nodes[node].left >= 0:
                depth[tree.nodes[node].left] = depth[node] + 1
                depth[tree.nodes[node].left + 1] = depth[node] + 1
        # The stack pops from its end: push the last leaf first.
        for node in range(n_nodes - 1, -1, -1):
            if tree.nodes[node].left < 0:
                tree.push(leaf_start[node], leaf_start[node + 1], node, depth[node])
    finally:
        free(leaf_start)
        free(depth)
    return 0


def grow_trees(
    CodedColumns columns,
    ColumnValues values,
    const class_t[::1] classes,
    const double[::1] weight,
    const uint8_t[::1] taking_part,
    int64_t n_labeled,
    int32_t n_classes,
    criterion,
    dict limits,
    const uint64_t[::1] seeds,
    const uint64_t[::1] sample_seeds,
    explored,
    StopSignal stop,
    list benches,
):
    """Grow a block of trees, or deepen the trees that phase 1 explored.

    Parameters
    ----------
    columns : CodedColumns
    values : ColumnValues or None
        Given, each drawn feature has one candidate, a random cut; None tries every cut.
    classes : uint16 array of shape (n_rows,)
        Class code of each row; ``n_classes - 1`` marks rows that carry no label (phase 1) or a
        pseudo-label (phase 2).
    weight : float64 array of shape (n_rows,) or None
        Weights of labelled rows. Other rows weigh 1.
    taking_part : uint8 array of shape (n_rows,)
        Rows that count in this phase.
    n_labeled : int
        Rows [0, n_labeled) are labelled.
    n_classes : int
        Known classes plus one.
    criterion : AugmentedGiniCriterion or GiniCriterion
    limits : dict
        The fields of ``Limits``.
    seeds : uint64 array of shape (n_trees,)
        One stream of feature draws a tree.
    sample_seeds : uint64 array of shape (n_trees,) or None
        One stream of bootstrap draws a tree; None takes every row once.
    explored : list of CODED_NODE arrays or None
        Trees of phase 1 to go on from.
    stop : StopSignal
    benches : list
        Scratch memory that blocks of one fit hand on to each other; empty at first. As many
        come to be as blocks run at once.

    Returns
    -------
    list of (nodes, counts, impure, importances)
        NODE array whose inner nodes hold cuts in codes (random cuts: thresholds); labelled and
        unlabelled rows of each node (phase 1, else None); class counts of the leaves that hold
        several classes; total decrease of the criterion by feature.
    """
    cdef int64_t n_rows = columns.table.n_rows
    cdef int64_t n_trees = seeds.shape[0]
    cdef int64_t i, n_seated
    cdef Limits rules = limits
    cdef AugmentedGini augmented
    cdef bint is_augmented = isinstance(criterion, AugmentedGiniCriterion)
    cdef bint narrow = weight is None and fits_narrow_keys(columns, n_classes)
    cdef Scratch scratch
    cdef GrowingTree tree
    cdef const uint8_t[::1] start = None
    if is_augmented:
        augmented.ratio = (<AugmentedGiniCriterion?> criterion).rule.ratio
        augmented.n_known = <class_t> (n_classes - 1)
    else:
        <GiniCriterion?> criterion
    scratch, tree = take_bench(benches, n_rows, columns.table.n_features, n_classes, narrow)
    scratch.work.weight = &weight[0] if weight is not None else NULL

    grown = []
    for i in range(n_trees):
        if explored is not None:
            start = np.ascontiguousarray(explored[i]).view(np.uint8)
        with nogil:
            n_seated = _seat_rows(
                &scratch.work, n_labeled, n_rows, &classes[0], &taking_part[0],
                sample_seeds is not None, sample_seeds[i] if sample_seeds is not None else 0,
            )
            _open_slices(&columns.table, tree, &scratch.work, n_seated, start)
            grow_tree(
                &augmented if is_augmented else NULL,
                &values.policy if values is not None else NULL, narrow, &columns.table, &rules,
                &scratch.work, tree, seeds[i], stop,
            )
        grown.append(tree.to_arrays(is_augmented))
    benches.append((scratch, tree))
    return grown
