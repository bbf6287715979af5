"""Moving rows: splitting a node, and ordering rows by the leaf of a grown tree.

Both keep the order of rows within a side or a leaf. The rows of every node are therefore in
ascending order, and gathering their codes walks memory forward.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t
from libc.string cimport memcpy, memset

from lacforest._tree.statistics cimport gather
from lacforest._tree.types cimport (
    CodeTable, Node, Split, Workspace, check, class_t, code_t, row_t
)

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


cdef void leaves_of_rows(
    const CodeTable* table, const Node* nodes, const row_t* rows, int64_t n_rows, int32_t* leaves
) noexcept nogil:
    """Walk rows of the table to their leaves by codes.

    A group of rows takes one step at a time together, so that their memory accesses overlap.
    """
    cdef int32_t[STEP_ROWS] active
    cdef int64_t b, begin, i, j
    cdef int32_t n_active, n_still, node, feature
    cdef bint missing_left
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
                feature = nodes[node].feature
                missing_left = feature >= 0
                feature = feature if missing_left else ~feature
                node = nodes[node].left + (
                    not _goes_left(
                        _code_at(table, feature, rows[j]),
                        nodes[node].payload.cut.last,
                        table.n_codes[feature],
                        missing_left,
                    )
                )
                leaves[j] = node
                active[n_still] = active[i]
                n_still += nodes[node].left >= 0
            n_active = n_still


cdef int64_t split_rows(
    const CodeTable* table, Workspace* work, int64_t start, int64_t end, const Split* best
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


cdef void order_by_leaf(
    const CodeTable* table,
    Workspace* work,
    int64_t n_rows,
    const Node* nodes,
    int32_t n_nodes,
    int64_t* leaf_start,
) noexcept nogil:
    """Order rows[:n_rows] by their leaf: a counting sort by leaf id."""
    cdef int32_t* leaf = <int32_t*> work.keys
    cdef row_t* ordered_rows = <row_t*> work.spare
    cdef class_t* ordered_classes = <class_t*> (ordered_rows + n_rows)
    cdef int64_t i, place
    memset(leaf_start, 0, (n_nodes + 1) * sizeof(int64_t))
    leaves_of_rows(table, nodes, work.rows, n_rows, leaf)
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
