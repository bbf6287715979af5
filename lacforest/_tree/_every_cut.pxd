"""All cuts between neighbouring codes present in the node: the candidates of the paper.

They are walked in ascending order, either over sorted keys or, where the node spans few codes, over
a table of (code, class) counts. Both move the same rows across the same cuts, so the choice is one
of speed alone.
"""

from libc.string cimport memset

from lacforest._tree._candidates cimport consider, count_missing
from lacforest._tree._criterion cimport move
from lacforest._tree._keys cimport bit_length, gather, row_amount, sort_keys
from lacforest._tree._types cimport (
    CELLS_PER_ROW, N_CELLS, CodeRange, CodeTable, Limits, Split, Workspace, check, class_t, code_t,
    count_t, criterion_t, int32_t, int64_t, uint32_t, uint64_t
)


cdef inline int64_t _pack(
    Workspace* work,
    int64_t start,
    int64_t n_rows,
    const code_t* codes,
    code_t low,
    code_t missing,
    bint has_missing,
    count_t tag,
) noexcept nogil:
    """Keys of the rows that have the feature; returns how many there are.

    Integer counts need only the class below the code; weighted counts need the row's position.
    """
    cdef uint32_t* narrow = <uint32_t*> work.keys
    cdef uint64_t* wide = work.keys
    cdef const class_t* classes = work.classes + start
    cdef int32_t class_bits = work.class_bits
    cdef int64_t i
    cdef int64_t n_keys = 0
    if not has_missing:
        for i in range(n_rows):     # plain enough to be vectorised
            if count_t is int64_t:
                narrow[i] = ((codes[i] - low) << class_bits) | classes[i]
            else:
                wide[i] = (<uint64_t> (codes[i] - low) << 32) | <uint64_t> i
        return n_rows
    for i in range(n_rows):
        if count_t is int64_t:
            narrow[n_keys] = ((codes[i] - low) << class_bits) | classes[i]
        else:
            wide[n_keys] = (<uint64_t> (codes[i] - low) << 32) | <uint64_t> i
        n_keys += codes[i] != missing
    return n_keys


cdef inline void _walk_keys(
    const criterion_t* criterion,
    const Limits* limits,
    Workspace* work,
    int64_t start,
    const uint32_t* narrow,
    const uint64_t* wide,
    int64_t n_keys,
    CodeRange codes,
    code_t missing,
    bint missing_left,
    count_t n_labeled,
    count_t n_unlabeled,
    count_t sum_squares,
    double margin,
    Split* best,
) noexcept nogil:
    """Consider every cut of sorted keys, with missing rows on one side throughout."""
    cdef const class_t* classes = work.classes + start
    cdef const count_t* node_counts = <const count_t*> work.node_counts
    cdef const count_t* missing_counts = <const count_t*> work.missing_counts
    cdef count_t* left_counts = <count_t*> work.left_counts
    cdef int32_t class_bits = work.class_bits
    cdef uint32_t class_mask = (<uint32_t> 1 << class_bits) - 1
    cdef count_t min_leaf = <count_t> limits.min_leaf
    cdef count_t min_labeled = <count_t> limits.min_labeled
    cdef count_t min_unlabeled = <count_t> limits.min_unlabeled
    cdef count_t left_labeled = 0
    cdef count_t left_unlabeled = 0
    cdef count_t left_squares = 0
    cdef count_t right_squares = sum_squares
    cdef count_t amount = 1
    cdef int64_t i
    cdef uint32_t k
    cdef code_t code, next_code
    if missing_left:
        for k in range(<uint32_t> work.n_classes):
            if missing_counts[k] > 0:
                move(criterion, k, missing_counts[k], left_counts, node_counts,
                     &left_labeled, &left_unlabeled, &left_squares, &right_squares)
    if count_t is int64_t:
        next_code = narrow[0] >> class_bits
    else:
        next_code = <code_t> (wide[0] >> 32)
    for i in range(n_keys):
        code = next_code
        if count_t is int64_t:
            k = narrow[i] & class_mask
        else:
            k = classes[<uint32_t> wide[i]]
            amount = row_amount(work, start + <uint32_t> wide[i], n_labeled)
        check(k < <uint32_t> work.n_classes)
        move(criterion, k, amount, left_counts, node_counts,
             &left_labeled, &left_unlabeled, &left_squares, &right_squares)
        if i + 1 == n_keys:
            if missing_left or codes.n_missing == 0:
                break
            next_code = missing - codes.low   # the last cut: present | missing
        elif count_t is int64_t:
            next_code = narrow[i + 1] >> class_bits
        else:
            next_code = <code_t> (wide[i + 1] >> 32)
        if next_code != code:
            consider(
                criterion, min_leaf, min_labeled, min_unlabeled,
                left_labeled, left_unlabeled, left_squares,
                n_labeled - left_labeled, n_unlabeled - left_unlabeled, right_squares,
                codes.low + code, codes.low + next_code, missing_left, margin, best,
            )
    memset(left_counts, 0, work.n_classes * sizeof(count_t))


cdef inline void _count_cells(
    Workspace* work,
    int64_t start,
    int64_t n_rows,
    const code_t* codes,
    code_t low,
    code_t high,
    code_t missing,
    count_t tag,
) noexcept nogil:
    """Fill the table of (code, class) counts of the rows that have the feature."""
    cdef count_t* cells = <count_t*> work.cells
    cdef const class_t* classes = work.classes + start
    cdef int64_t n_classes = work.n_classes
    cdef int64_t i
    check((<int64_t> (high - low) + 1) * n_classes <= N_CELLS)
    memset(cells, 0, (<int64_t> (high - low) + 1) * n_classes * sizeof(count_t))
    for i in range(n_rows):
        if codes[i] != missing:
            cells[<int64_t> (codes[i] - low) * n_classes + classes[i]] += (
                row_amount(work, start + i, tag)
            )


cdef inline void _walk_cells(
    const criterion_t* criterion,
    const Limits* limits,
    Workspace* work,
    CodeRange codes,
    code_t missing,
    bint missing_left,
    count_t n_labeled,
    count_t n_unlabeled,
    count_t sum_squares,
    double margin,
    Split* best,
) noexcept nogil:
    """Consider every cut of the table of counts, with missing rows on one side throughout."""
    cdef const count_t* cells = <const count_t*> work.cells
    cdef const count_t* node_counts = <const count_t*> work.node_counts
    cdef const count_t* missing_counts = <const count_t*> work.missing_counts
    cdef count_t* left_counts = <count_t*> work.left_counts
    cdef uint32_t n_classes = <uint32_t> work.n_classes
    cdef count_t min_leaf = <count_t> limits.min_leaf
    cdef count_t min_labeled = <count_t> limits.min_labeled
    cdef count_t min_unlabeled = <count_t> limits.min_unlabeled
    cdef count_t left_labeled = 0
    cdef count_t left_unlabeled = 0
    cdef count_t left_squares = 0
    cdef count_t right_squares = sum_squares
    cdef count_t seen
    cdef uint32_t k
    cdef code_t code, last
    if missing_left:
        for k in range(n_classes):
            if missing_counts[k] > 0:
                move(criterion, k, missing_counts[k], left_counts, node_counts,
                     &left_labeled, &left_unlabeled, &left_squares, &right_squares)
    last = codes.low
    for code in range(codes.low, codes.high + 1):
        seen = 0
        for k in range(n_classes):
            seen += cells[k]
        if seen > 0:
            if code != codes.low:
                consider(
                    criterion, min_leaf, min_labeled, min_unlabeled,
                    left_labeled, left_unlabeled, left_squares,
                    n_labeled - left_labeled, n_unlabeled - left_unlabeled, right_squares,
                    last, code, missing_left, margin, best,
                )
            last = code
            for k in range(n_classes):
                if cells[k] > 0:
                    move(criterion, k, cells[k], left_counts, node_counts,
                         &left_labeled, &left_unlabeled, &left_squares, &right_squares)
        cells += n_classes
    if codes.n_missing > 0 and not missing_left:
        consider(
            criterion, min_leaf, min_labeled, min_unlabeled,
            left_labeled, left_unlabeled, left_squares,
            n_labeled - left_labeled, n_unlabeled - left_unlabeled, right_squares,
            last, missing, missing_left, margin, best,
        )
    memset(left_counts, 0, n_classes * sizeof(count_t))


cdef inline bint search_every_cut(
    const criterion_t* criterion,
    const CodeTable* table,
    const Limits* limits,
    Workspace* work,
    int64_t start,
    int64_t end,
    int32_t feature,
    count_t n_labeled,
    count_t n_unlabeled,
    count_t sum_squares,
    double margin,
    Split* best,
) noexcept nogil:
    """Improve best by the cuts of one feature; returns whether some row misses it."""
    cdef int64_t n_rows = end - start
    cdef code_t* codes = <code_t*> work.spare
    cdef code_t missing = table.n_codes[feature]
    cdef CodeRange found = gather(table, feature, work.rows + start, n_rows, codes)
    cdef int64_t n_keys
    cdef int64_t n_cells
    cdef int32_t bits
    cdef bint missing_left
    cdef uint32_t* narrow = NULL
    cdef uint64_t* wide = NULL
    if found.low >= found.high and (found.n_missing == 0 or found.low > found.high):
        return False   # constant in this node
    if found.n_missing > 0:
        count_missing(work, start, n_rows, codes, missing, n_labeled)

    n_cells = (<int64_t> (found.high - found.low) + 1) * work.n_classes
    if n_cells <= N_CELLS and n_cells <= CELLS_PER_ROW * n_rows:
        _count_cells(
            work, start, n_rows, codes, found.low, found.high, missing, n_labeled
        )
        for missing_left in range(1 + (found.n_missing > 0)):
            _walk_cells(
                criterion, limits, work, found, missing, missing_left,
                n_labeled, n_unlabeled, sum_squares, margin, best,
            )
        return found.n_missing > 0

    n_keys = _pack(
        work, start, n_rows, codes, found.low, missing, found.n_missing > 0, n_labeled
    )
    bits = bit_length(found.high - found.low)
    if count_t is int64_t:
        narrow = sort_keys(
            <uint32_t*> work.keys, <uint32_t*> work.spare, n_keys, work.class_bits, bits
        )
    else:
        wide = sort_keys(work.keys, work.spare, n_keys, 32, bits)
    for missing_left in range(1 + (found.n_missing > 0)):
        _walk_keys(
            criterion, limits, work, start, narrow, wide, n_keys, found, missing, missing_left,
            n_labeled, n_unlabeled, sum_squares, margin, best,
        )
    return found.n_missing > 0
