"""The rows of one tree: those of its sample that take part, within the limits of a tree."""

from libc.stdint cimport int64_t, uint32_t, uint64_t
from libc.string cimport memmove

from lacforest._tree.growth cimport GrowthTable
from lacforest._tree.sampling cimport draw_by_hash, draw_with_replacement, keep_some
from lacforest._tree.types cimport Workspace, class_t, row_t


cdef inline int64_t draw_hashed(
    GrowthTable table, row_t* rows, int64_t first, int64_t end, uint64_t seed
) noexcept nogil:
    """Draw rows of [first, end) by the chances of the table; with rows = NULL, only count them."""
    return draw_by_hash(rows, first, end, seed, table.chances, table.n_chances)


cdef inline int64_t load_rows(
    GrowthTable table,
    Workspace* work,
    bint bootstrap,
    uint64_t sample_state,
    uint64_t* random_state,
) noexcept nogil:
    """Write the rows of one tree and their classes; return how many there are.

    Labelled and unlabelled rows are drawn apart; with replacement, so that both totals are kept.
    Rows that do not take part are dropped after the draw, so that both steps of a tree see one
    sample. Limits come last, that on labelled rows first; random_state, the stream of the tree,
    moves only where one binds.
    """
    cdef int64_t n_rows = table.columns.table.n_rows
    cdef int64_t n_drawn = n_rows
    cdef int64_t n_loaded = 0
    cdef int64_t n_labeled = 0
    cdef int64_t n_unlabeled
    cdef int64_t i
    if bootstrap and table.chances:
        n_drawn = draw_hashed(table, work.rows, 0, table.n_labeled, sample_state)
        n_drawn += draw_hashed(
            table, work.rows + n_drawn, table.n_labeled, n_rows, ~sample_state
        )
    elif bootstrap:
        n_drawn = draw_with_replacement(
            work.rows, 0, table.n_labeled, &sample_state, <uint32_t*> work.keys
        )
        n_drawn += draw_with_replacement(
            work.rows + n_drawn, table.n_labeled, n_rows, &sample_state, <uint32_t*> work.keys
        )
    else:
        for i in range(n_rows):
            work.rows[i] = <row_t> i
    for i in range(n_drawn):
        if table.taking_part[work.rows[i]]:
            work.rows[n_loaded] = work.rows[i]
            work.classes[n_loaded] = table.classes[work.rows[i]]
            n_labeled += work.rows[i] < <row_t> table.n_labeled
            n_loaded += 1
    n_unlabeled = n_loaded - n_labeled
    if n_labeled > table.max_labeled:
        keep_some(work.rows, work.classes, n_labeled, table.max_labeled, random_state)
        memmove(
            work.rows + table.max_labeled, work.rows + n_labeled, n_unlabeled * sizeof(row_t)
        )
        memmove(
            work.classes + table.max_labeled,
            work.classes + n_labeled,
            n_unlabeled * sizeof(class_t),
        )
        n_labeled = table.max_labeled
    if n_unlabeled > table.max_unlabeled:
        keep_some(
            work.rows + n_labeled,
            work.classes + n_labeled,
            n_unlabeled,
            table.max_unlabeled,
            random_state,
        )
        n_unlabeled = table.max_unlabeled
    return n_labeled + n_unlabeled
