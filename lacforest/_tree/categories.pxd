"""Categories of a node: an order in which cuts of a column without order are scanned."""

from lacforest._tree.types cimport (
    CodeRange, FeatureStatistics, NodeSearch, Split, Workspace, code_t, count_t, uint64_t
)


# The node's rows by category and class, as cells in an order of the categories. `codes` are those
# of the rows, `span` their range; the codes of the result are places in the order. A row of class k
# has a mass of known_mass, one of the last class a mass of 1. `cells` has room for two categories.
cdef FeatureStatistics order_categories(
    const NodeSearch* search,
    const code_t* codes,
    const CodeRange* span,
    double known_mass,
    count_t* cells,
) noexcept nogil

# The same for categories that are counted: `counts` has a line per code of the span. Both ends of
# the span have rows, and differ.
cdef FeatureStatistics order_counted(
    const NodeSearch* search, const CodeRange* span, const count_t* counts, double known_mass
) noexcept nogil

# List the categories of a node by their codes, with scores: the order that random cuts take, which
# need no sorting. `counts` becomes the address of their rows by class, one line per slot of a
# category. The other arguments are those of order_categories.
cdef void score_categories(
    const NodeSearch* search,
    const code_t* codes,
    const CodeRange* span,
    double known_mass,
    const count_t** counts,
) noexcept nogil

# The same for categories that are counted.
cdef void score_counted(
    const NodeSearch* search, const CodeRange* span, const count_t* counts, double known_mass
) noexcept nogil

# The two categories of a node, which have one cut, whatever their order. The codes of the span
# become places: 0 and 1.
cdef inline void take_two_categories(Workspace* work, CodeRange* span) noexcept nogil:
    work.categories.order[0].code = span.low
    work.categories.order[1].code = span.high
    work.categories.n_present = work.categories.n_places = 2
    span.low = 0
    span.high = 1
    span.missing = 2

# The place of a random cut among the scored categories: those up to it come first afterwards, and
# `left_counts` is increased by their counts. `counts` has a line per slot of a category.
cdef code_t draw_place(
    Workspace* work, uint64_t word, const count_t* counts, count_t* left_counts
) noexcept nogil

# Keep the categories of the cut that has just become the best.
cdef void keep_categories(Workspace* work, Split* best) noexcept nogil


cdef inline code_t n_set_members(
    const Split* best, const code_t* kept, const code_t** members
) noexcept nogil:
    """The categories of the best cut on the side that missing rows are not on.

    Return 0 where all categories of the column are: the cut divides present and missing rows.
    """
    members[0] = kept
    if best.missing_left:
        members[0] = kept + best.n_left_categories
        return best.n_categories - best.n_left_categories
    return 0 if best.n_left_categories == best.n_categories else best.n_left_categories
