"""Moving rows: splitting a node's slice, and seating rows in the leaves of a grown tree.

Both are stable, so the rows of every node stay in ascending order and gathers walk memory forward.
"""

from libc.stdint cimport int32_t, int64_t
from libc.string cimport memcpy, memset

from lacforest._tree._keys cimport code_at, gather
from lacforest._tree._types cimport (
    CodeTable, Node, Split, Workspace, check, class_t, code_t, row_t
)


cdef enum:
    BLOCK = 256             # rows walked together


cdef inline bint _goes_left(
    code_t code, code_t last, code_t missing, bint missing_left
) noexcept nogil:
    """Missing codes lie above every cut, so only missing_left needs a second look."""
    return (code <= last) | (missing_left & (code == missing))


cdef void leaves_of_rows(
    const CodeTable* table, const Node* nodes, const row_t* rows, int64_t n_rows, int32_t* leaves
) noexcept nogil:
    """Walk rows of the table to their leaves by codes.

    A block of rows takes one step at a time together: their loads overlap, where a row on its own
    would wait for each.
    """
    cdef int32_t[BLOCK] active
    cdef int64_t b, begin, i, j
    cdef int32_t n_active, n_still, node, feature
    cdef bint missing_left
    if nodes[0].left < 0:
        memset(leaves, 0, n_rows * sizeof(int32_t))
        return
    for b in range((n_rows + BLOCK - 1) // BLOCK):
        begin = b * BLOCK
        n_active = <int32_t> min(n_rows - begin, <int64_t> BLOCK)
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
                        code_at(table, feature, rows[j]),
                        nodes[node].key.cut.last,
                        table.n_codes[feature],
                        missing_left,
                    )
                )
                leaves[j] = node
                active[n_still] = active[i]
                n_still += nodes[node].left >= 0
            n_active = n_still


cdef int64_t split(
    const CodeTable* table, Workspace* work, int64_t start, int64_t end, const Split* best
) noexcept nogil:
    """Reorder rows[start:end] into [goes left | goes right]; returns where the right begins."""
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
        left = _goes_left(code, best.cut, missing, best.missing_left)
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


cdef void reseed_by_leaf(
    const CodeTable* table,
    Workspace* work,
    int64_t n_rows,
    const Node* nodes,
    int32_t n_nodes,
    int64_t* leaf_start,
) noexcept nogil:
    """Order rows[:n_rows] by the leaf they fall into (a counting sort by leaf id).

    leaf_start has n_nodes + 1 entries; afterwards the rows of leaf j are
    rows[leaf_start[j]:leaf_start[j + 1]], and inner nodes have empty slices.
    """
    cdef int32_t* leaf = <int32_t*> work.keys
    cdef row_t* seated_rows = <row_t*> work.spare
    cdef class_t* seated_classes = <class_t*> (seated_rows + n_rows)
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
        seated_rows[place] = work.rows[i]
        seated_classes[place] = work.classes[i]
    memcpy(work.classes, seated_classes, n_rows * sizeof(class_t))
    memcpy(work.rows, seated_rows, n_rows * sizeof(row_t))
    for i in range(n_nodes, 0, -1):
        leaf_start[i] = leaf_start[i - 1]
    leaf_start[0] = 0
