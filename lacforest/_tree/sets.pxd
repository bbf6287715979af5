"""Sets of categories: which categories of a node's column go to the side that missing ones do not.

A set is a header followed by words of 64 bits, bit b of word w for code 64 (first + w) + b. The
header is first + 2**32 n_words: words that would be zero at either end are left out. Codes outside
of the words are not in the set, and so are those of missing values and of categories that the fit
has not seen. `set_at` of a node is the place of the header among the words of its tree.
"""

from cython cimport final

from lacforest._tree.types cimport (
    ForestSets, Node, TreeSets, code_t, int32_t, int64_t, node_t, uint8_t, uint32_t, uint64_t
)


cdef inline uint32_t set_first(const uint64_t* header) noexcept nogil:
    return <uint32_t> header[0]


cdef inline uint32_t set_size(const uint64_t* header) noexcept nogil:
    return <uint32_t> (header[0] >> 32)


cdef inline bint in_set(const uint64_t* header, code_t code) noexcept nogil:
    """Whether the category with this code is in the set."""
    cdef uint32_t word = (code >> 6) - set_first(header)     # wraps around below the first word
    return word < set_size(header) and (header[1 + word] >> (code & 63)) & 1


cdef inline uint64_t set_word(const uint64_t* header) noexcept nogil:
    """The bits of all codes, in a column of fewer than 64."""
    return header[1] if set_size(header) > 0 else 0


cdef inline bint is_first_word(const uint64_t* header) noexcept nogil:
    """Whether the set is one word, of the codes below 64."""
    return header[0] == <uint64_t> 1 << 32


# Raise ValueError about the set of a node.
cdef int refuse_set(int64_t number, int64_t tree) except -1


cdef inline TreeSets sets_of_tree(const ForestSets* forest, int64_t tree) noexcept nogil:
    cdef TreeSets sets
    sets.is_categorical = forest.is_categorical
    sets.words = NULL
    sets.n_words = 0
    if forest.is_categorical != NULL:
        sets.words = forest.words + forest.tree_start[tree]
        sets.n_words = forest.tree_start[tree + 1] - forest.tree_start[tree]
    return sets


cdef inline bint is_on_categories(const TreeSets* sets, int32_t feature) noexcept nogil:
    """Whether an inner node splits categories; `feature` is its entry."""
    if sets.is_categorical == NULL:
        return False
    return sets.is_categorical[feature if feature >= 0 else ~feature]


cdef inline bint has_set(const TreeSets* sets, double at) noexcept nogil:
    """Whether a set begins at this place and lies within the words of the tree."""
    if not 0.0 <= at < <double> sets.n_words or at != <double> <int64_t> at:
        return False
    return set_size(sets.words + <int64_t> at) < sets.n_words - <int64_t> at


cdef inline int64_t first_without_set(
    const node_t* nodes, int64_t n_nodes, const TreeSets* sets
) noexcept nogil:
    """The first inner node on categories that has no set; -1 = none. All features are known."""
    cdef int64_t i
    cdef double at
    if sets.is_categorical == NULL:
        return -1
    for i in range(n_nodes):
        if nodes[i].left >= 0 and is_on_categories(sets, nodes[i].feature):
            if node_t is Node:
                at = nodes[i].payload.set_at
            else:
                at = <double> nodes[i].cut
            if not has_set(sets, at):
                return i
    return -1


cdef inline int check_sets(
    const node_t* nodes, const int64_t[::1] tree_start, const ForestSets* forest
) except -1:
    """Raise ValueError unless every node on categories has a set. All features are known."""
    cdef TreeSets sets
    cdef int64_t t, bad
    for t in range(tree_start.shape[0] - 1):
        sets = sets_of_tree(forest, t)
        bad = first_without_set(
            nodes + tree_start[t], tree_start[t + 1] - tree_start[t], &sets
        )
        if bad >= 0:
            refuse_set(bad, t)
    return 0


@final
cdef class GrowingSets:
    cdef uint64_t* words
    cdef int64_t n_words, capacity

    cdef int _add_words(self, int64_t count) except -1 nogil
    cdef int64_t add(
        self, const code_t* members, code_t n_members, code_t n_codes
    ) except -1 nogil
    cdef int copy(self, const uint64_t* words, int64_t n_words) except -1 nogil


# The sets as they are now; adding one may move them.
cdef inline TreeSets sets_so_far(
    GrowingSets growing, const uint8_t* is_categorical
) noexcept nogil:
    cdef TreeSets sets
    sets.is_categorical = is_categorical
    sets.words = growing.words
    sets.n_words = growing.n_words
    return sets


@final
cdef class CategorySets:
    cdef ForestSets sets
    cdef readonly object is_categorical
    cdef readonly object words
    cdef readonly object tree_start

    cdef int _hold(self, is_categorical, words, tree_start) except -1


# The sets of a forest of n_trees on n_features, after checking that they are of such a forest.
# None has no categorical feature.
cdef ForestSets sets_of_forest(
    CategorySets sets, int64_t n_trees, int64_t n_features
) except *
