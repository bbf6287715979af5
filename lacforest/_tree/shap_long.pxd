"""Terms with more features than a key has bits."""

from libc.stdint cimport int32_t, int64_t, uint8_t, uint16_t
from libc.string cimport memcpy, memset

from lacforest._tree.shap_path cimport mark_rows
from lacforest._tree.shap_unit cimport number_keys
from lacforest._tree.types cimport (
    KEY_BITS, LongTerm, RowBlock, TermNode, TermPath, TermUnit, rank_t
)

cdef extern from "wide_loops.h" nogil:
    void scale_slots(
        const uint8_t* is_violated, double if_satisfied, double if_violated, int32_t n_slots,
        double* product,
    ) noexcept
    void add_slots(
        const uint8_t* is_violated, double if_satisfied, double if_violated, int32_t n_slots,
        const double* product, double* value,
    ) noexcept

cdef inline void add_long_term(
    const TermNode* tree,
    const TermPath* path,
    const rank_t[:, ::1] ranks,
    const double[:, :, ::1] rules,
    const RowBlock* block,
    TermUnit* unit,
    const LongTerm* term,
) noexcept nogil:
    """Add the term at the end of a path with more features than a key has bits.

    Rows that violate the same of the first features and take the same sides at nodes on the others
    share a slot: slots are split edge by edge.
    """
    cdef int32_t n_features = path.n_features
    cdef int32_t n_points = (n_features + 1) // 2
    cdef const double* points = &rules[n_points, 0, 0]
    cdef const uint16_t* masks = block.masks + path.depth * block.mask_stride
    cdef const TermNode* parent
    cdef uint16_t* slots = block.slots
    cdef uint8_t* is_violated
    cdef double* product
    cdef float* target
    cdef int32_t n_slots
    cdef int32_t d, p, q, s
    cdef int64_t i
    cdef uint16_t side
    cdef double share
    memcpy(slots, masks, block.n_rows * sizeof(uint16_t))
    n_slots = number_keys(slots, block.n_rows, 1 << KEY_BITS, unit)
    for d in range(1, path.depth + 1):
        if path.position[d] < KEY_BITS:
            continue
        parent = tree + path.node[d - 1]
        for i in range(block.n_rows):
            slots[i] *= 2
        mark_rows(
            parent, path.node[d] != parent.left, ranks, block.first_row, block.n_rows, &block.sets,
            slots, 1, slots,
        )
        n_slots = number_keys(slots, block.n_rows, 2 * n_slots, unit)
    for i in range(block.n_rows):
        term.row[slots[i]] = i
    memset(term.is_violated, 0, n_features * n_slots)
    for p in range(KEY_BITS):
        is_violated = term.is_violated + p * n_slots
        for s in range(n_slots):
            is_violated[s] = (masks[term.row[s]] >> p) & 1
    for d in range(1, path.depth + 1):
        if path.position[d] < KEY_BITS:
            continue
        parent = tree + path.node[d - 1]
        is_violated = term.is_violated + path.position[d] * n_slots
        for s in range(n_slots):
            side = 0
            mark_rows(
                parent, path.node[d] != parent.left, ranks, block.first_row + term.row[s], 1,
                &block.sets, &side, 1, &side,
            )
            is_violated[s] |= <uint8_t> side
    for q in range(n_points):
        product = term.product + q * n_slots
        for s in range(n_slots):
            product[s] = tree[path.node[path.depth]].worth * rules[n_points, 1, q]
        for p in range(n_features):
            share = (1.0 - points[q]) * path.share[p]
            scale_slots(
                term.is_violated + p * n_slots, points[q] + share, share, n_slots, product
            )
    for p in range(n_features):
        share = path.share[p]
        memset(term.value, 0, n_slots * sizeof(double))
        for q in range(n_points):
            add_slots(
                term.is_violated + p * n_slots,
                (1.0 - share) / (points[q] + (1.0 - points[q]) * share), -rules[n_points, 2, q],
                n_slots, term.product + q * n_slots, term.value,
            )
        target = block.sums + path.feature[p] * block.feature_stride
        for i in range(block.n_rows):
            target[i * block.row_stride] += <float> term.value[slots[i]]
