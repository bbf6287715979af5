"""Moving rows: splitting a node, and ordering rows by the leaf of a grown tree.

Both keep the order of rows within a side or a leaf. The rows of every node are therefore in
ascending order, and gathering their codes walks memory forward.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from lacforest._tree.sets cimport in_set, sets_so_far
from lacforest._tree.statistics cimport gather
from lacforest._tree.types cimport (
    CodeTable, Node, Split, TreeSets, Workspace, check, class_t, code_t, row_t
)
from lacforest._tree.workspace cimport GrowingTree

cdef enum:
    STEP_ROWS = 256         # rows that take a step down the tree together


cdef inline code_t _code_at(const CodeTable* table, int32_t feature, row_t row) noexcept nogil:
    cdef uint8_t width = table.width[feature]
    if width == 2:
        return (<const uint16_t*> table.column[feature])[row]
    if width == 1:
        return (<const uint8_t*> table.column[feature])[row]
    return (<const uint32_t*> table.column[feature])[row]


cdef inline bint _goes_left(
    code_t code, code_t last, code_t missing, bint missing_left
) noexcept nogil:
    """Missing codes lie above every cut, so only missing_left needs a second comparison."""
    return (code <= last) | (missing_left & (code == missing))


cdef inline bint _goes_left_at(
    const CodeTable* table, const Node* node, const TreeSets* sets, row_t row
) noexcept nogil:
    cdef bint missing_left = node.feature >= 0
    cdef int32_t feature = node.feature if missing_left else ~node.feature
    cdef code_t code = _code_at(table, feature, row)
    if sets.is_categorical != NULL and sets.is_categorical[feature]:
        return in_set(sets.words + <int64_t> node.payload.set_at, code) != missing_left
    return _goes_left(code, node.payload.cut.last, table.n_codes[feature], missing_left)


cdef void leaves_of_rows(
    const CodeTable* table,
    const Node* nodes,
    const TreeSets* sets,
    const row_t* rows,
    int64_t n_rows,
    int32_t* leaves,
) noexcept nogil:
    """Walk rows of the table to their leaves by codes.

    A group of rows takes one step at a time together, so that their memory accesses overlap.
    """
    cdef int32_t[STEP_ROWS] active
    cdef int64_t b, begin, i, j
    cdef int32_t n_active, n_still, node
    if nodes[0].left < 0:
        memset(leaves, 0, n_rows * sizeof(int32_t))
        return
    for b in range((n_rows + STEP_ROWS - 1) // STEP_ROWS):
        begin = b * STEP_ROWS
        n_active = <int32_t> min(n_rows - begin, <int64_t> STEP_ROWS)
        for i in range(n_active):
            active[i] = <int32_t> i
            leaves[begin + i] = 0
        while n_active > 0:
            n_still = 0
            for i in range(n_active):
                j = begin + active[i]
                node = leaves[j]
                node = nodes[node].left + (
                    not _goes_left_at(table, nodes + node, sets, rows[j])
                )
                leaves[j] = node
                active[n_still] = active[i]
                n_still += nodes[node].left >= 0
            n_active = n_still


cdef int64_t split_rows(
    const CodeTable* table,
    Workspace* work,
    int64_t start,
    int64_t end,
    const Split* best,
    const uint64_t* header,
) noexcept nogil:
    cdef row_t* rows = work.rows + start
    cdef class_t* classes = work.classes + start
    cdef int64_t n_rows = end - start
    cdef code_t* codes = <code_t*> work.keys
    cdef row_t* right_rows = <row_t*> work.spare
    cdef class_t* right_classes = <class_t*> (right_rows + n_rows)
    cdef code_t missing = table.n_codes[best.feature]
    cdef code_t code
    cdef row_t row
    cdef class_t label
    cdef int64_t i
    cdef int64_t n_left = 0
    cdef int64_t n_right = 0
    cdef bint left
    gather(table, best.feature, rows, n_rows, codes)
    for i in range(n_rows):
        code = codes[i]
        row = rows[i]
        label = classes[i]
        if header != NULL:
            left = in_set(header, code) != best.missing_left
        else:
            left = _goes_left(code, best.cut.last, missing, best.missing_left)
        # Write to both sides and advance one: no branch to mispredict. n_left, n_right <= i.
        rows[n_left] = row
        classes[n_left] = label
        right_rows[n_right] = row
        right_classes[n_right] = label
        n_left += left
        n_right += not left
    check(n_left + n_right == n_rows and n_left > 0 and n_right > 0)
    memcpy(rows + n_left, right_rows, n_right * sizeof(row_t))
    memcpy(classes + n_left, right_classes, n_right * sizeof(class_t))
    return start + n_left


cdef void _order_by_leaf(
    const CodeTable* table,
    Workspace* work,
    int64_t n_rows,
    const Node* nodes,
    int32_t n_nodes,
    const TreeSets* sets,
    int64_t* leaf_start,
) noexcept nogil:
    """Order rows[:n_rows] by their leaf: a counting sort by leaf id.

    leaf_start has n_nodes + 1 entries; afterwards the rows of leaf j are
    rows[leaf_start[j]:leaf_start[j + 1]], and inner nodes have empty slices.
    """
    cdef int32_t* leaf = <int32_t*> work.keys
    cdef row_t* ordered_rows = <row_t*> work.spare
    cdef class_t* ordered_classes = <class_t*> (ordered_rows + n_rows)
    cdef int64_t i, place
    memset(leaf_start, 0, (n_nodes + 1) * sizeof(int64_t))
    leaves_of_rows(table, nodes, sets, work.rows, n_rows, leaf)
    for i in range(n_rows):
        leaf_start[leaf[i] + 1] += 1
    for i in range(n_nodes):
        leaf_start[i + 1] += leaf_start[i]
    # leaf_start[j] advances to the end of slice j, which is where slice j + 1 began.
    for i in range(n_rows):
        check(0 <= leaf[i] < n_nodes)
        place = leaf_start[leaf[i]]
        check(place < n_rows)
        leaf_start[leaf[i]] = place + 1
        ordered_rows[place] = work.rows[i]
        ordered_classes[place] = work.classes[i]
    memcpy(work.classes, ordered_classes, n_rows * sizeof(class_t))
    memcpy(work.rows, ordered_rows, n_rows * sizeof(row_t))
    for i in range(n_nodes, 0, -1):
        leaf_start[i] = leaf_start[i - 1]
    leaf_start[0] = 0


cdef int open_leaves(
    const CodeTable* table, GrowingTree tree, Workspace* work, int64_t n_rows
) except -1 nogil:
    """Order the rows by the leaves of the tree, and open each of these, the first one on top."""
    cdef int32_t n_nodes = tree.n_nodes
    cdef int32_t node
    cdef TreeSets sets = sets_so_far(tree.sets, table.is_categorical)
    cdef int64_t* leaf_start = <int64_t*> malloc((n_nodes + 1) * sizeof(int64_t))
    cdef int32_t* depth = <int32_t*> malloc(n_nodes * sizeof(int32_t))
    try:
        if not leaf_start or not depth:
            with gil:
                raise MemoryError("no memory to order rows by leaves")
        _order_by_leaf(table, work, n_rows, tree.nodes, n_nodes, &sets, leaf_start)
        memset(depth, 0, n_nodes * sizeof(int32_t))
        for node in range(n_nodes):
            if tree.nodes[node].left >= 0:
                depth[tree.nodes[node].left] = depth[node] + 1
                depth[tree.nodes[node].left + 1] = depth[node] + 1
        for node in range(n_nodes - 1, -1, -1):
            if tree.nodes[node].left < 0:
                tree.push(leaf_start[node], leaf_start[node + 1], node, depth[node])
    finally:
        free(leaf_start)
        free(depth)
    return 0
