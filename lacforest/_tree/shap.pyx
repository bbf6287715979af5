"""Shapley values of one output of a frozen forest, exact and path-dependent.

What a tree answers for a row of which only the features in S are known is a sum of terms

    worth * product over features k on the path to a node of (satisfied[k] if k in S else share[k])

over its nodes. satisfied[k] is 1 where the row meets all conditions on k along the path, else 0;
share[k] is the share of training rows that meet them. The Shapley value of feature j in a term is

    integral from 0 to 1 of  worth * (satisfied[j] - share[j])
                             * product over k != j of (t * satisfied[k] + (1 - t) * share[k])  dt,

a polynomial of degree D - 1 for D features, which (D + 1) // 2 points of Gauss and Legendre
integrate exactly.

A row enters only by the features that it violates, a bit mask. Terms are therefore evaluated by
units: parts of trees in which few rows behave differently. Rows of one key (the features violated
above the unit, and the side taken at each node of it) share all values of the unit's terms. A term
is evaluated once for each mask that occurs, added to the slots of the unit, and some units at a
time are added to the rows. The order of additions depends on the trees alone, so a row's values are
the same bits whatever the other rows are. Terms are evaluated in double precision, rounded to
single precision, and added up in it for some trees at a time; results are in double precision.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t
from libc.string cimport memcpy, memset

from lacforest._tree.sets cimport CategorySets, check_sets, sets_of_forest, sets_of_tree
from lacforest._tree.shap_long cimport add_long_term
from lacforest._tree.shap_path cimport (
    mark_rows, prepare_wide_loops, step_to, step_up
)
from lacforest._tree.shap_plan cimport (
    count_features_above, first_contradiction, open_planned, plan_units
)
from lacforest._tree.shap_unit cimport (
    add_column, add_term, mark_keys, move_sums, number_keys, place_columns, prepare_term,
    spread_values
)
from lacforest._tree.types cimport (
    GAIN_COLUMNS, IS_VISITED, JOINS_UNIT, KEY_BITS, KEY_POINTS, KEY_TABLE, MAX_BLOCK_ROWS, ROW_TILE,
    SPLITS_UNIT, STARTS_UNIT, UNITS_TOGETHER, ForestSets, LongTerm, RowBlock, ShapScratch, TermNode,
    TermPath, TermTables, TermUnit, UnitGroup, rank_t
)
from lacforest._tree.walkable cimport check_starts, check_trees

import numpy as np

prepare_wide_loops(True)

cdef enum:
    MAX_MASKS = 1 << 22     # masks of all levels: bounds the block where a tree is very deep
    MAX_SUMS = 1 << 23      # sums of all features: bounds the block where a table is very wide
    GROUP_VALUES = 1 << 15  # values of units that are added to the rows together: within L2
    TREES_TOGETHER = 8      # whose values are added up in single precision


cdef void _open_unit(
    const TermNode* tree, const uint8_t* plan, const RowBlock* block, ShapScratch* scratch,
    int32_t n_open,
) noexcept nogil:
    """Make room in the group for a unit at the end of the path, with columns for its features.

    There are not more of them than bits of a key.
    """
    cdef const TermPath* path = &scratch.path
    cdef UnitGroup* group = &scratch.group
    cdef int32_t bottom = n_open
    cdef int32_t here, feature, p
    cdef TermUnit* unit = &scratch.unit
    if group.n_units == UNITS_TOGETHER:
        spread_values(group, block)
    unit.feature = group.feature + group.n_units * KEY_BITS
    unit.n_columns = 0
    for p in range(path.n_features):
        add_column(path.feature[p], unit)
    scratch.stack[n_open] = path.node[path.depth]
    n_open += 1
    while n_open > bottom:
        n_open -= 1
        here = scratch.stack[n_open]
        if plan[here] & SPLITS_UNIT:
            feature = tree[here].feature
            add_column(feature if feature >= 0 else ~feature, unit)
        n_open = open_planned(tree, plan, JOINS_UNIT, here, scratch.stack, n_open)
    place_columns(unit, block.row_stride > 1)
    group.n_columns[group.n_units] = unit.n_columns


cdef void _find_slots(
    const TermNode* tree,
    const uint8_t* plan,
    const rank_t[:, ::1] ranks,
    const RowBlock* block,
    ShapScratch* scratch,
    int32_t n_open,
) noexcept nogil:
    """Key of each row in the unit at the end of the path, and a slot for each key that occurs."""
    cdef const TermPath* path = &scratch.path
    cdef uint16_t* keys = scratch.group.slots + scratch.group.n_units * scratch.group.slot_stride
    cdef int32_t n_bits = path.n_features
    cdef int32_t bottom = n_open
    cdef int32_t here
    memcpy(
        keys, block.masks + path.depth * block.mask_stride, block.n_rows * sizeof(uint16_t)
    )
    scratch.stack[n_open] = path.node[path.depth]
    n_open += 1
    while n_open > bottom:
        n_open -= 1
        here = scratch.stack[n_open]
        if plan[here] & SPLITS_UNIT:
            mark_rows(
                tree + here, False, ranks, block.first_row, block.n_rows, &block.sets,
                keys, <uint16_t> (1 << n_bits), keys,
            )
            n_bits += 1
        n_open = open_planned(tree, plan, JOINS_UNIT, here, scratch.stack, n_open)
    scratch.unit.n_slots = number_keys(keys, block.n_rows, 1 << n_bits, &scratch.unit)


cdef void _add_unit(
    const TermNode* tree,
    const uint8_t* plan,
    const double[:, :, ::1] rules,
    const RowBlock* block,
    ShapScratch* scratch,
    int32_t n_open,
) noexcept nogil:
    """Add the terms of the unit that starts at the end of the path."""
    cdef TermPath* path = &scratch.path
    cdef TermUnit* unit = &scratch.unit
    cdef UnitGroup* group = &scratch.group
    cdef uint16_t above = <uint16_t> ((1 << path.n_features) - 1)
    cdef int32_t n_bits = path.n_features
    cdef int32_t top = path.depth
    cdef int32_t bottom = n_open
    cdef int32_t here, i
    cdef uint16_t bit, side
    cdef const uint16_t* before
    cdef uint16_t* masks = block.masks + (top + 1) * block.mask_stride
    for i in range(unit.n_slots):
        masks[i] = unit.key[i] & above
    group.first_value[group.n_units] = group.n_values
    unit.values = group.values + group.n_values
    unit.is_empty = True
    scratch.stack[n_open] = path.node[top]
    n_open += 1
    while n_open > bottom:
        n_open -= 1
        here = scratch.stack[n_open]
        if tree[here].depth > top:
            step_to(tree, path, here)
            bit = <uint16_t> (1 << path.position[path.depth])
            side = here != tree[path.node[path.depth - 1]].left
            before = block.masks + path.depth * block.mask_stride
            masks = block.masks + (path.depth + 1) * block.mask_stride
            mark_keys(
                unit.key, unit.bit[path.depth - 1], side, bit, before, masks, unit.n_slots
            )
        if tree[here].worth != 0.0:
            prepare_term(&scratch.term, path, tree[here].worth, rules, unit)
            add_term(&scratch.term, masks, unit)
        # Nodes are met in the order of _find_slots, which gave them their bits.
        if plan[here] & SPLITS_UNIT:
            unit.bit[path.depth] = n_bits
            n_bits += 1
        n_open = open_planned(tree, plan, JOINS_UNIT, here, scratch.stack, n_open)
    while path.depth > top:
        step_up(path)
    group.n_units += 1
    group.n_values += unit.n_slots * unit.width
    if group.n_values >= GROUP_VALUES:
        spread_values(group, block)


cdef void _add_tree(
    const TermNode* tree,
    const uint8_t* plan,
    const rank_t[:, ::1] ranks,
    const double[:, :, ::1] rules,
    const RowBlock* block,
    ShapScratch* scratch,
) noexcept nogil:
    """Add all terms of a tree to the values of a block of rows."""
    cdef TermPath* path = &scratch.path
    cdef const TermNode* node
    cdef const TermNode* parent
    cdef int32_t n_open = 1 if plan[0] & IS_VISITED else 0
    cdef int32_t here, position
    scratch.stack[0] = 0
    memset(block.masks, 0, block.n_rows * sizeof(uint16_t))
    while n_open > 0:
        n_open -= 1
        here = scratch.stack[n_open]
        node = tree + here
        if here > 0:
            step_to(tree, path, here)
            position = path.position[path.depth]
            parent = tree + path.node[path.depth - 1]
            mark_rows(
                parent, here != parent.left, ranks, block.first_row, block.n_rows, &block.sets,
                block.masks + (path.depth - 1) * block.mask_stride,
                <uint16_t> (1 << position) if position < KEY_BITS else 0,
                block.masks + path.depth * block.mask_stride,
            )
        if plan[here] & STARTS_UNIT:
            _open_unit(tree, plan, block, scratch, n_open)
            _find_slots(tree, plan, ranks, block, scratch, n_open)
            _add_unit(tree, plan, rules, block, scratch, n_open)
        if node.worth != 0.0 and path.n_features > KEY_BITS:
            # First the units before it: when they are added otherwise depends on all rows.
            spread_values(&scratch.group, block)
            add_long_term(tree, path, ranks, rules, block, &scratch.unit, &scratch.long_term)
        n_open = open_planned(tree, plan, IS_VISITED, here, scratch.stack, n_open)
    while path.depth > 0:
        step_up(path)
    spread_values(&scratch.group, block)


cdef int _check_terms(
    const TermNode* nodes, const int64_t[::1] tree_start, int64_t n_features
) except -1:
    """Raise ValueError unless the trees can be walked and are what split_terms makes of them."""
    cdef int64_t t, bad
    cdef uint8_t[::1] has_parent = np.zeros(tree_start[tree_start.shape[0] - 1], dtype=np.uint8)
    check_trees(nodes, tree_start, n_features)
    for t in range(tree_start.shape[0] - 1):
        bad = first_contradiction(
            nodes + tree_start[t], tree_start[t + 1] - tree_start[t], &has_parent[tree_start[t]]
        )
        if bad >= 0:
            raise ValueError(f"node {bad} of tree {t} is not as split_terms leaves it")
    return 0


def _aligned(n_values):
    """Zeros that begin with a line of the cache."""
    buffer = np.zeros(n_values + 16, dtype=np.float32)
    first = -buffer.ctypes.data // 4 % 16
    return buffer[first:first + n_values]


def use_wide_loops(bint are_allowed):
    """Whether to use the loops for AVX2 where the processor has it; results are the same bits.

    Not while values are being computed: the choice is that of all threads.
    """
    prepare_wide_loops(are_allowed)


def add_shap_values(
    const rank_t[:, ::1] ranks not None,
    const uint8_t[::1] node_bytes not None,
    const int64_t[::1] tree_start not None,
    const double[:, :, ::1] rules not None,
    int64_t first_row,
    int64_t end_row,
    double[:, ::1] out not None,
    CategorySets sets=None,
):
    """Add to `out` the Shapley values of each row and feature, over all trees.

    Parameters
    ----------
    ranks : uint16 or uint32 array of shape (n_features, n_rows)
        Thresholds of the feature below each value; the largest number marks a missing value.
    node_bytes : uint8 view of a TERM_NODE array
        After `split_terms`.
    tree_start : int64 array of shape (n_trees + 1,)
    rules : float64 array of shape (n_rules, 3, n_points)
        ``rules[m]`` integrates by m points: points t, weights, and 1 / (1 - t).
    first_row, end_row : int
        Which rows.
    out : float64 array of shape (n_rows, n_features)
    sets : CategorySets or None, default=None
        Of a forest with categorical features, whose ranks are codes.
    """
    check_starts(node_bytes, sizeof(TermNode), tree_start)
    cdef const TermNode* nodes = <const TermNode*> &node_bytes[0]
    cdef int64_t n_features = ranks.shape[0]
    cdef int64_t n_points = rules.shape[2]
    cdef int64_t n_levels = 2
    cdef int64_t i, t
    if n_features < 1 or out.shape[1] != n_features or out.shape[0] != ranks.shape[1]:
        raise ValueError("ranks must have the shape (n_features, n_rows), out (n_rows, n_features)")
    if not 0 <= first_row <= end_row <= ranks.shape[1]:
        raise ValueError(f"rows {first_row} to {end_row} of {ranks.shape[1]}")
    if rules.shape[0] < 1 or rules.shape[1] != 3 or n_points < rules.shape[0] - 1:
        raise ValueError("rules must hold points, weights and reciprocals of every rule")
    _check_terms(nodes, tree_start, n_features)
    cdef ForestSets forest = sets_of_forest(sets, tree_start.shape[0] - 1, n_features)
    check_sets(nodes, tree_start, &forest)
    for i in range(tree_start[0], tree_start[tree_start.shape[0] - 1]):
        n_levels = max(n_levels, <int64_t> nodes[i].depth + 2)
    if 2 * (rules.shape[0] - 1) < min(n_levels - 2, n_features):
        raise ValueError("too few rules for the longest path")
    cdef int64_t n_block = min(max(MAX_MASKS // n_levels, 64), <int64_t> MAX_BLOCK_ROWS)
    n_block = min(n_block, max(MAX_SUMS // n_features, <int64_t> 64))
    n_block = max(min(n_block, end_row - first_row), 1)
    cdef int64_t n_long = n_block if n_points > KEY_POINTS else 1
    cdef int32_t[:, ::1] by_level = np.empty((5, n_levels), dtype=np.int32)
    cdef double[:, ::1] shares = np.empty((2, n_levels))
    cdef int32_t[:, ::1] by_feature = np.full((2, n_features), [[-1], [0]], dtype=np.int32)
    cdef int64_t n_nodes = tree_start[tree_start.shape[0] - 1]
    cdef int32_t[:, ::1] of_nodes = np.zeros((2, n_nodes), dtype=np.int32)
    cdef uint8_t[::1] plan = np.empty(n_nodes, dtype=np.uint8)
    cdef int32_t[::1] stack = np.empty(2 * n_levels, dtype=np.int32)
    cdef int32_t[:, ::1] unit_features = np.zeros((UNITS_TOGETHER, KEY_BITS), dtype=np.int32)
    cdef uint16_t[::1] masks = np.empty(n_levels * n_block, dtype=np.uint16)
    cdef uint16_t[:, ::1] by_row = np.empty((3, n_block), dtype=np.uint16)
    cdef uint16_t[::1] slot_of = np.empty(1 << KEY_BITS, dtype=np.uint16)
    cdef uint8_t[::1] occurs = np.zeros(1 << KEY_BITS, dtype=np.uint8)
    cdef uint16_t[:, ::1] group_slots = np.empty((UNITS_TOGETHER, n_block), dtype=np.uint16)
    cdef float[::1] group_values = _aligned(GROUP_VALUES + n_block * KEY_BITS)
    # Only the masks of a term that occur are written, so little of it takes up memory.
    cdef float[::1] term_values = _aligned(KEY_BITS << KEY_BITS)
    cdef bint is_narrow = n_features <= KEY_BITS
    # Not a power of two, which would let columns contend for the same lines of the cache.
    cdef int64_t n_padded = (n_block + 31) // 16 * 16
    cdef float[::1] sums = _aligned(n_padded * (KEY_BITS if is_narrow else n_features))
    cdef float[::1] sink = _aligned(ROW_TILE)
    cdef double[:, ::1] tables = np.empty((2, KEY_TABLE * KEY_POINTS))
    cdef double[:, ::1] gain = np.empty((KEY_POINTS, GAIN_COLUMNS))
    cdef int64_t[::1] long_row = np.empty(n_long, dtype=np.int64)
    cdef uint8_t[::1] long_flags = np.empty(2 * n_long * n_points, dtype=np.uint8)
    cdef double[::1] long_products = np.empty((n_long + 1) * n_points)
    cdef double[::1] values = np.empty(n_block)
    cdef ShapScratch scratch
    scratch.stack = &stack[0]
    scratch.path = TermPath(
        n_features=0, feature=&by_level[0, 0], share=&shares[0, 0], position_of=&by_feature[0, 0],
        depth=0, node=&by_level[1, 0], position=&by_level[2, 0], n_before=&by_level[3, 0],
        share_before=&shares[1, 0],
    )
    scratch.path.node[0] = 0
    scratch.term = TermTables(
        n_points=0, n_features=0, n_low=0, low=&tables[0, 0], high=&tables[1, 0], gain=&gain[0, 0]
    )
    scratch.unit = TermUnit(
        n_slots=0, n_columns=0, width=0, is_empty=True, feature=NULL,
        column_of=&by_feature[1, 0], key=&by_row[0, 0], slot_of=&slot_of[0], occurs=&occurs[0],
        bit=&by_level[4, 0], values=NULL, mask=&by_row[2, 0], term_values=&term_values[0],
    )
    scratch.group = UnitGroup(
        n_units=0, n_values=0, feature=&unit_features[0, 0], slots=&group_slots[0, 0],
        slot_stride=n_block, values=&group_values[0],
    )
    scratch.long_term = LongTerm(
        row=&long_row[0], is_violated=&long_flags[0], product=&long_products[n_points],
        gain=&long_products[0], value=&values[0],
    )
    cdef RowBlock block = RowBlock(
        first_row=first_row, n_rows=0, masks=&masks[0], mask_stride=n_block, slots=&by_row[1, 0],
        sums=&sums[0], row_stride=KEY_BITS if is_narrow else 1,
        feature_stride=1 if is_narrow else n_padded, sink=&sink[0], sets=sets_of_tree(&forest, 0),
    )
    with nogil:
        for t in range(tree_start.shape[0] - 1):
            i = tree_start[t]
            count_features_above(nodes + i, &scratch.path, scratch.stack, &of_nodes[0, i])
            plan_units(
                nodes + i, tree_start[t + 1] - i, &of_nodes[0, i], &of_nodes[1, i], &plan[i]
            )
        while block.first_row < end_row:
            block.n_rows = min(end_row - block.first_row, n_block)
            for t in range(tree_start.shape[0] - 1):
                block.sets = sets_of_tree(&forest, t)
                i = tree_start[t]
                _add_tree(nodes + i, &plan[i], ranks, rules, &block, &scratch)
                if (t + 1) % TREES_TOGETHER == 0 or t == tree_start.shape[0] - 2:
                    move_sums(
                        block.sums, block.row_stride, block.feature_stride, block.n_rows,
                        n_features, &out[block.first_row, 0],
                    )
            block.first_row += n_block
