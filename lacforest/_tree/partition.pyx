"""Moving rows: splitting a node, and ordering rows by the leaf of a grown tree.

Both keep the order of rows within a side or a leaf. The rows of every node are therefore in
ascending order, and gathering their codes walks memory forward.
"""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t, uint32_t, uint64_t
from libc.stdlib cimport free, malloc
from libc.string cimport memcpy, memset

from lacforest._tree.sets cimport in_set, set_word, sets_so_far
from lacforest._tree.statistics cimport gather
from lacforest._tree.types cimport (
    CodeTable, Node, OpenBlock, Split, TreeSets, Workspace, check, class_t, code_t, row_t, stored_t
)
from lacforest._tree.workspace cimport GrowingTree

cdef enum:
    STEP_ROWS = 1024        # rows that walk down a tree together
    FEW_ROWS = 2            # at most so many walk on one by one


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


cdef inline bint _is_word(code_t missing) noexcept nogil:
    """Whether one word has a bit for every code of a column, the missing one included."""
    return missing < 64


cdef inline bint _is_member(
    const uint64_t* header, uint64_t word, code_t missing, code_t code
) noexcept nogil:
    """`in_set` for many codes of a column: `word` is `set_word(header)` where `_is_word`."""
    return (word >> code) & 1 if _is_word(missing) else in_set(header, code)


cdef inline bint _goes_left_at(
    const CodeTable* table, const Node* node, const TreeSets* sets, row_t row
) noexcept nogil:
    cdef bint missing_left = node.feature >= 0
    cdef int32_t feature = node.feature if missing_left else ~node.feature
    cdef code_t code = _code_at(table, feature, row)
    if sets.is_categorical != NULL and sets.is_categorical[feature]:
        return in_set(sets.words + <int64_t> node.payload.set_at, code) != missing_left
    return _goes_left(code, node.payload.cut.last, table.n_codes[feature], missing_left)


cdef inline int32_t _divide(
    const stored_t* column,
    const row_t* rows,
    const OpenBlock* here,
    const uint16_t* source,
    uint16_t* target,
    code_t last,
    code_t missing,
    bint missing_left,
) noexcept nogil:
    """Write the rows of a slice from both ends by the side they go to; return how many go left."""
    cdef int32_t low = here.start
    cdef int32_t high = here.end - 1
    cdef int32_t i
    cdef uint16_t place
    cdef bint left
    for i in range(here.start, here.end):
        place = source[i]
        left = _goes_left(<code_t> column[rows[place]], last, missing, missing_left)
        target[low] = place
        target[high] = place
        low += left
        high -= not left
    return low - here.start


cdef inline int32_t _divide_at(
    const CodeTable* table,
    const Node* node,
    const TreeSets* sets,
    const row_t* rows,
    const OpenBlock* here,
    const uint16_t* source,
    uint16_t* target,
) noexcept nogil:
    """Divide the rows of a slice at a node: read what holds for all of them once."""
    cdef bint missing_left = node.feature >= 0
    cdef int32_t feature = node.feature if missing_left else ~node.feature
    cdef uint8_t width = table.width[feature]
    cdef code_t last = node.payload.cut.last
    cdef code_t missing = table.n_codes[feature]
    cdef int32_t low = here.start
    cdef int32_t high = here.end - 1
    cdef const uint64_t* header
    cdef uint64_t word
    cdef code_t code
    cdef int32_t i
    cdef bint left
    if sets.is_categorical != NULL and sets.is_categorical[feature]:
        header = sets.words + <int64_t> node.payload.set_at
        word = set_word(header) if _is_word(missing) else 0
        for i in range(here.start, here.end):
            code = _code_at(table, feature, rows[source[i]])
            left = _is_member(header, word, missing, code) != missing_left
            target[low] = source[i]
            target[high] = source[i]
            low += left
            high -= not left
        return low - here.start
    if width == 1:
        return _divide(
            <const uint8_t*> table.column[feature], rows, here, source, target, last, missing,
            missing_left,
        )
    if width == 2:
        return _divide(
            <const uint16_t*> table.column[feature], rows, here, source, target, last, missing,
            missing_left,
        )
    return _divide(
        <const uint32_t*> table.column[feature], rows, here, source, target, last, missing,
        missing_left,
    )


cdef void leaves_of_rows(
    const CodeTable* table,
    const Node* nodes,
    const TreeSets* sets,
    const row_t* rows,
    int64_t n_rows,
    int32_t* leaves,
) noexcept nogil:
    """Walk rows of the table to their leaves by codes.

    The rows of a block that are at one node are divided together, and only few rows walk on one by
    one. Open slices are disjoint and not empty, so there are no more of them than rows.
    """
    cdef uint16_t[2][STEP_ROWS] places
    cdef OpenBlock[STEP_ROWS] stack
    cdef OpenBlock here
    cdef const uint16_t* source
    cdef const row_t* block
    cdef int64_t b, begin
    cdef int32_t n_block, n_open, n_left, node, i
    for b in range((n_rows + STEP_ROWS - 1) // STEP_ROWS):
        begin = b * STEP_ROWS
        block = rows + begin
        n_block = <int32_t> min(n_rows - begin, <int64_t> STEP_ROWS)
        for i in range(n_block):
            places[0][i] = <uint16_t> i
        stack[0] = OpenBlock(0, 0, n_block, 0)
        n_open = 1
        while n_open > 0:
            n_open -= 1
            here = stack[n_open]
            source = places[here.side]
            if here.end - here.start <= FEW_ROWS or nodes[here.node].left < 0:
                for i in range(here.start, here.end):
                    node = here.node
                    while nodes[node].left >= 0:
                        node = nodes[node].left + (
                            not _goes_left_at(table, nodes + node, sets, block[source[i]])
                        )
                    leaves[begin + source[i]] = node
                continue
            n_left = _divide_at(
                table, nodes + here.node, sets, block, &here, source, places[1 - here.side]
            )
            node = nodes[here.node].left
            check(n_open + 2 <= STEP_ROWS)
            if n_left < here.end - here.start:
                stack[n_open] = OpenBlock(
                    node + 1, here.start + n_left, here.end, 1 - here.side
                )
                n_open += 1
            if n_left > 0:
                stack[n_open] = OpenBlock(
                    node, here.start, here.start + n_left, 1 - here.side
                )
                n_open += 1


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
    cdef uint64_t word = set_word(header) if header != NULL and _is_word(missing) else 0
    gather(table, best.feature, rows, n_rows, codes)
    for i in range(n_rows):
        code = codes[i]
        row = rows[i]
        label = classes[i]
        if header != NULL:
            left = _is_member(header, word, missing, code) != best.missing_left
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
