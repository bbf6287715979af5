"""One grow loop for both steps, and the blocks of trees that threads run."""

from libc.math cimport sqrt
from libc.stdint cimport int32_t, int64_t, uint64_t
from libc.string cimport memcpy

from cpython.exc cimport PyErr_CheckSignals

from lacforest._tree.criterion cimport (
    AugmentedGiniCriterion, GiniCriterion, has_class_leaves, is_terminal, n_labeled_rows,
    records_counts, side_loss, sum_counts
)
from lacforest._tree.categories cimport n_set_members
from lacforest._tree.growth cimport GrowthRules, GrowthTable
from lacforest._tree.partition cimport open_leaves, split_rows
from lacforest._tree.coded_columns cimport fits_narrow_keys
from lacforest._tree.search cimport find_best_cut, short_threshold
from lacforest._tree.sets cimport (
    CategorySets, first_without_set, refuse_set, sets_of_forest, sets_of_tree
)
from lacforest._tree.statistics cimport count_node
from lacforest._tree.tree_rows cimport draw_hashed, load_rows
from lacforest._tree.types cimport (
    LABELED, N_SUMS, UNLABELED, AugmentedGini, CodeTable, ForestSets, Gini, Node, NodeSearch, Slice,
    TreeSets, check, code_t, count_t, criterion_t
)
from lacforest._tree.walkable cimport first_unwalkable, refuse_node
from lacforest._tree.workspace cimport (
    GrowingTree, Scratch, ScratchPool, StopSignal, readable_nodes
)

# Rows searched between two polls for Ctrl-C: some tens of milliseconds.
cdef int64_t POLL_EVERY = 1 << 22


cdef int _close_leaf(
    const criterion_t* criterion,
    GrowingTree tree,
    const count_t* counts,
    int32_t node,
    count_t n_rows,
) except -1 nogil:
    """Record what a leaf holds; see GrownTree.nodes."""
    cdef int32_t n_classes = tree.n_classes
    cdef int32_t n_present = 0
    cdef int32_t last_present = 0
    cdef int32_t k
    cdef double* row
    tree.nodes[node].feature = 0
    tree.nodes[node].left = -1
    tree.nodes[node].payload.n_rows = <double> n_rows
    if not has_class_leaves(criterion):
        return 0
    for k in range(n_classes):
        if counts[k] > 0:
            n_present += 1
            last_present = k
    if n_present == 0:
        # Unlabelled rows came here in Step I (gamma = 0), and none got a pseudo-label. By
        # Definition 1 a leaf without labelled rows is new.
        last_present = n_classes - 1
    if n_present <= 1:
        tree.nodes[node].left = ~last_present
    else:
        row = tree.add_impure()
        for k in range(n_classes):
            row[k] = <double> counts[k]
        tree.nodes[node].left = ~(n_classes + tree.n_impure - 1)
    return 0


cdef int _split_node(
    NodeSearch* search, GrowingTree tree, const Slice* here, double decrease
) except -1 nogil:
    """Split the node by the best cut and open its children, the left one on top of the stack."""
    cdef int64_t set_at = -1
    cdef int64_t middle
    cdef int32_t left = tree.add_nodes(2)
    cdef Node* node = tree.nodes + here.node
    cdef const code_t* members
    cdef code_t n_members
    if search.best.n_categories > 0:
        n_members = n_set_members(&search.best, search.work.categories.best, &members)
        set_at = tree.sets.add(members, n_members, search.table.n_codes[search.best.feature])
    middle = split_rows(
        search.table, search.work, here.start, here.end, &search.best,
        tree.sets.words + set_at if set_at >= 0 else NULL,
    )
    node.feature = search.best.feature if search.best.missing_left else ~search.best.feature
    node.left = left
    if set_at >= 0:
        node.payload.set_at = <double> set_at
    elif search.candidates.are_random and not search.candidates.keep_codes:
        node.payload.threshold = short_threshold(search)
    else:
        node.payload.cut = search.best.cut
    tree.decrease[search.best.feature] += decrease
    tree.push(middle, here.end, left + 1, here.depth + 1)
    tree.push(here.start, middle, left, here.depth + 1)
    return 0


cdef int _grow(
    const criterion_t* criterion,
    count_t* node_counts,
    NodeSearch* search,
    GrowingTree tree,
    uint64_t random_state,
    StopSignal stop,
) except -1 nogil:
    """Grow every open slice; node_counts is work.node_counts in the type of the counts.

    Children are numbered when their parent splits, left before right, and the left subtree is
    grown first: child ids exceed parent ids, and draws are used in depth-first order.
    """
    cdef Slice here
    cdef count_t[N_SUMS] node
    cdef count_t n_rows
    cdef int64_t n_since_poll = 0
    cdef int32_t feature
    tree.has_counts = records_counts(criterion)
    for feature in range(search.table.n_features):
        search.work.features[feature] = feature
    while tree.n_open > 0:
        tree.n_open -= 1
        here = tree.stack[tree.n_open]
        check(0 <= here.start <= here.end and here.node < tree.n_nodes)
        search.start = here.start
        search.n_rows = here.end - here.start
        n_since_poll += search.limits.max_features * search.n_rows + 1
        if stop.requested or n_since_poll > POLL_EVERY:
            n_since_poll = 0
            with gil:
                PyErr_CheckSignals()
                if stop.requested:
                    raise InterruptedError("the fit was stopped")

        count_node(search.work, here.start, here.end, node_counts)
        sum_counts(criterion, node_counts, node)
        n_rows = n_labeled_rows(node) + node[UNLABELED]
        if tree.has_counts:
            tree.counts[2 * here.node] = <double> node[LABELED]
            tree.counts[2 * here.node + 1] = <double> node[UNLABELED]
        search.best.feature = -1
        if (
            here.depth < search.limits.max_depth
            and n_rows >= <count_t> search.limits.min_split
            and n_rows >= 2 * <count_t> search.limits.min_leaf
            and not is_terminal(criterion, node)
        ):
            find_best_cut(criterion, search, node, &random_state)
        if search.best.feature < 0:
            _close_leaf(
                criterion, tree, node_counts, here.node, node[LABELED] + node[UNLABELED]
            )
        else:
            _split_node(search, tree, &here, side_loss(criterion, node) - search.best.loss)
    return 0


cdef int grow_tree(
    const criterion_t* criterion,
    NodeSearch* search,
    GrowingTree tree,
    uint64_t random_state,
    StopSignal stop,
) except -1 nogil:
    if search.work.is_narrow:
        _grow(
            criterion, <int64_t*> search.work.node_counts, search, tree, random_state, stop
        )
    else:
        _grow(criterion, <double*> search.work.node_counts, search, tree, random_state, stop)
    return 0


# ------------------------------------------------------------------------------ blocks of trees


cdef int64_t _hashed_capacity(
    GrowthTable table, const uint64_t[::1] sample_seeds, bint needs_unlabeled
) except -1:
    """Rows that scratch memory for samples by hash must hold.

    The same for all blocks of a fit, unless a sample is larger by eight standard deviations.
    """
    cdef int64_t n_rows = table.columns.table.n_rows
    cdef int64_t n_largest = 0
    cdef int64_t i, n_drawn, n_unlabeled
    cdef double mean = 0.0
    for i in range(table.n_chances):
        mean += (1.0 - table.chances[i]) * n_rows
    for i in range(sample_seeds.shape[0]):
        with nogil:
            n_drawn = draw_hashed(table, NULL, 0, table.n_labeled, sample_seeds[i])
            n_unlabeled = draw_hashed(table, NULL, table.n_labeled, n_rows, ~sample_seeds[i])
        if n_drawn == 0 or (needs_unlabeled and n_unlabeled == 0):
            kind = "labelled" if n_drawn == 0 else "unlabelled"
            n_kind = table.n_labeled if n_drawn == 0 else n_rows - table.n_labeled
            raise ValueError(
                f"the sample of a tree holds none of the {n_kind} {kind} rows: raise max_samples"
            )
        n_largest = max(n_largest, n_drawn + n_unlabeled)
    return max(n_largest, <int64_t> (mean + 8.0 * sqrt(mean) + 64.0))


cdef const Node* _explored_nodes(
    nodes, const TreeSets* sets, const CodeTable* table, int64_t number
) except NULL:
    """Address of a tree of Step I, after checking that it can be walked."""
    cdef const Node* node = readable_nodes(nodes)
    cdef int64_t bad
    if len(nodes) > 0x7FFFFFFF:
        raise ValueError(f"a tree of {len(nodes)} nodes exceeds the 2**31 that it can number")
    bad = first_unwalkable(node, len(nodes), table.n_features)
    if bad >= 0:
        refuse_node(bad, number)
    bad = first_without_set(node, len(nodes), sets)
    if bad >= 0:
        refuse_set(bad, number)
    return node


def grow_trees(
    GrowthTable table not None,
    GrowthRules rules not None,
    const uint64_t[::1] seeds not None,
    const uint64_t[::1] sample_seeds,
    explored,
    StopSignal stop not None,
    ScratchPool pool not None,
    CategorySets explored_sets=None,
):
    """Grow a block of trees, from their roots or from the leaves of trees of Step I.

    Parameters
    ----------
    table : GrowthTable
    rules : GrowthRules
    seeds : uint64 array of shape (n_trees,)
        One stream per tree, of feature draws and, where the number of rows is limited, of those
        that it takes.
    sample_seeds : uint64 array of shape (n_trees,) or None
        One stream of bootstrap draws, or one seed of hashes, per tree; None takes every row once.
    explored : list of CODED_NODE arrays or None
        Trees of Step I to grow on from, one per seed; None starts at the root.
    stop : StopSignal
    pool : ScratchPool
        Shared by all blocks of a fit.
    explored_sets : CategorySets or None, default=None
        Sets of the explored trees. None where no column is categorical.

    Returns
    -------
    list of GrownTree
    """
    cdef CodeTable* codes = &table.columns.table
    cdef int64_t n_trees = seeds.shape[0]
    cdef int64_t capacity = codes.n_rows
    cdef int64_t i, n_loaded, n_nodes
    cdef uint64_t random_state
    cdef bint is_augmented = isinstance(rules.criterion, AugmentedGiniCriterion)
    cdef bint bootstrap = sample_seeds is not None
    cdef AugmentedGini augmented
    cdef Gini gini
    cdef NodeSearch search
    cdef Scratch scratch
    cdef GrowingTree tree
    cdef const Node* start
    cdef ForestSets known_sets
    cdef TreeSets sets
    if bootstrap and sample_seeds.shape[0] != n_trees:
        raise ValueError(f"{sample_seeds.shape[0]} sample_seeds for {n_trees} trees")
    if explored is not None and len(explored) != n_trees:
        raise ValueError(f"{len(explored)} explored trees for {n_trees} seeds")
    if explored is not None and is_augmented:
        raise ValueError("trees of Step I are grown on by Gini impurity only")
    if explored is not None and table.columns.most_categories > 0 and explored_sets is None:
        raise ValueError("explored trees on categories need their sets")
    if rules.values is not None:
        rules.values.check_columns(table.columns)
    if not table.is_weighted:
        rules.limits.check_whole()
    if is_augmented:
        augmented = (<AugmentedGiniCriterion> rules.criterion).rule(table.n_classes)
    else:
        gini = (<GiniCriterion> rules.criterion).rule(table.n_classes)
    if bootstrap and table.chances:
        capacity = _hashed_capacity(table, sample_seeds, is_augmented)
    scratch = pool.acquire(
        capacity,
        codes.n_features,
        table.n_classes,
        not table.is_weighted and fits_narrow_keys(table.columns, table.n_classes),
        table.columns.most_categories,
    )
    scratch.work.weight = table.weight
    scratch.work.is_weighted = table.is_weighted
    table.write_rows_per_weight(scratch.work.rows_per_weight)
    augmented.rows_per_weight = scratch.work.rows_per_weight
    gini.rows_per_weight = scratch.work.rows_per_weight
    tree = scratch.tree
    search.table = codes
    search.limits = &rules.limits.limits
    search.candidates = rules.candidates
    search.work = &scratch.work

    if explored is not None:
        known_sets = sets_of_forest(explored_sets, n_trees, codes.n_features)
        if known_sets.is_categorical != NULL:
            known_sets.is_categorical = codes.is_categorical
    grown = []
    for i in range(n_trees):
        n_nodes = 0
        if explored is not None:
            sets = sets_of_tree(&known_sets, i)
            start = _explored_nodes(explored[i], &sets, codes, i)
            n_nodes = len(explored[i])
        random_state = seeds[i]
        with nogil:
            n_loaded = load_rows(
                table, search.work, bootstrap, sample_seeds[i] if bootstrap else 0, &random_state
            )
            tree.clear()
            if n_nodes > 0:
                tree.add_nodes(<int32_t> n_nodes)
                memcpy(tree.nodes, start, n_nodes * sizeof(Node))
                tree.sets.copy(sets.words, sets.n_words)
                open_leaves(codes, tree, search.work, n_loaded)
            else:
                tree.add_nodes(1)
                tree.push(0, n_loaded, 0, 0)
            if is_augmented:
                grow_tree(&augmented, &search, tree, random_state, stop)
            else:
                grow_tree(&gini, &search, tree, random_state, stop)
        grown.append(tree.finish())
    pool.release(scratch)
    return grown
