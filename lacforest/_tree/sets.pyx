"""Sets of categories: those of a tree while it grows, and those of all trees of a forest."""

from libc.stdint cimport int64_t, uint8_t, uint64_t
from libc.stdlib cimport free, malloc, realloc
from libc.string cimport memcpy, memset

from lacforest._tree.types cimport ForestSets, code_t

import numpy as np


cdef class GrowingSets:
    """Sets of categories of a tree while it grows."""

    def __cinit__(self):
        self.capacity = 4
        self.words = <uint64_t*> malloc(self.capacity * sizeof(uint64_t))
        if not self.words:
            raise MemoryError("no memory for the sets of categories of a tree")

    def __dealloc__(self):
        free(self.words)

    cdef int _add_words(self, int64_t count) except -1 nogil:
        """Append `count` words, all zero."""
        cdef void* grown
        cdef int64_t capacity = self.capacity
        while capacity < self.n_words + count:
            capacity *= 2
        if capacity > self.capacity:
            grown = realloc(self.words, capacity * sizeof(uint64_t))
            if not grown:
                with gil:
                    raise MemoryError("no memory for the sets of categories of a tree")
            self.words = <uint64_t*> grown
            self.capacity = capacity
        memset(self.words + self.n_words, 0, count * sizeof(uint64_t))
        self.n_words += count
        return 0

    cdef int64_t add(
        self, const code_t* members, code_t n_members, code_t n_codes
    ) except -1 nogil:
        """Append the set of some categories, or of all n_codes where n_members is 0."""
        cdef int64_t at = self.n_words
        cdef uint64_t first = 0
        cdef uint64_t last = (n_codes - 1) >> 6
        cdef uint64_t* bits
        cdef code_t i
        if n_members > 0:
            first = last = members[0] >> 6
        for i in range(1, n_members):
            first = members[i] >> 6 if members[i] >> 6 < first else first
            last = members[i] >> 6 if members[i] >> 6 > last else last
        self._add_words(2 + <int64_t> (last - first))
        self.words[at] = first | (last - first + 1) << 32
        bits = self.words + at + 1
        for i in range(n_members):
            bits[(members[i] >> 6) - first] |= <uint64_t> 1 << (members[i] & 63)
        for i in range(0 if n_members > 0 else n_codes):
            bits[i >> 6] |= <uint64_t> 1 << (i & 63)
        return at

    cdef int copy(self, const uint64_t* words, int64_t n_words) except -1 nogil:
        """Append the sets of a tree that is grown on."""
        if n_words == 0:     # of a tree without sets, which has no words to point to
            return 0
        self._add_words(n_words)
        memcpy(self.words + self.n_words - n_words, words, n_words * sizeof(uint64_t))
        return 0


cdef class CategorySets:
    """Sets of categories of all trees of a forest.

    Parameters
    ----------
    is_categorical : uint8 array of shape (n_features,)
        Whether nodes on this feature split by a set.
    words : uint64 array
        The sets, tree after tree; sets.pxd says how one is written.
    tree_start : int64 array of shape (n_trees + 1,)
        Where the words of each tree begin.
    """

    def __init__(self, is_categorical, words, tree_start):
        if self.is_categorical is not None:
            raise TypeError("sets of categories cannot be changed: a walk may be reading them")
        is_categorical = np.ascontiguousarray(is_categorical, dtype=np.uint8)
        words = np.ascontiguousarray(words, dtype=np.uint64)
        tree_start = np.ascontiguousarray(tree_start, dtype=np.int64)
        if not (
            is_categorical.ndim == words.ndim == tree_start.ndim == 1
            and len(is_categorical) >= 1
            and len(tree_start) >= 2
        ):
            raise ValueError("sets of categories need vectors: of features, words and trees")
        if (
            tree_start[0] != 0
            or tree_start[-1] != len(words)
            or (np.diff(tree_start) < 0).any()
        ):
            raise ValueError("trees do not cover the words of their sets")
        self._hold(is_categorical, words, tree_start)

    cdef int _hold(self, is_categorical, words, tree_start) except -1:
        """Keep arrays that have been checked."""
        cdef const uint8_t[::1] marks = is_categorical
        cdef const int64_t[::1] starts = tree_start
        cdef const uint64_t[::1] words_view = words
        self.is_categorical = is_categorical
        self.words = words
        self.tree_start = tree_start
        self.sets.is_categorical = &marks[0]
        self.sets.tree_start = &starts[0]
        self.sets.words = NULL
        if words_view.shape[0] > 0:
            self.sets.words = &words_view[0]
        return 0

    def __reduce__(self):
        return CategorySets, (self.is_categorical, self.words, self.tree_start)

    def take(self, int64_t first, int64_t end):
        """The sets of the trees [first, end)."""
        # Not checked again: on a small table that takes as long as growing a tree.
        cdef CategorySets taken = CategorySets.__new__(CategorySets)
        if not 0 <= first < end < len(self.tree_start):
            raise ValueError(f"no trees [{first}, {end}) among {len(self.tree_start) - 1}")
        starts = self.tree_start[first : end + 1]
        taken._hold(self.is_categorical, self.words[starts[0] : starts[-1]], starts - starts[0])
        return taken


cdef ForestSets sets_of_forest(
    CategorySets sets, int64_t n_trees, int64_t n_features
) except *:
    cdef ForestSets own
    if sets is None:
        own.is_categorical = NULL
        own.words = NULL
        own.tree_start = NULL
        return own
    if len(sets.tree_start) - 1 != n_trees or len(sets.is_categorical) != n_features:
        raise ValueError(
            f"sets of {len(sets.tree_start) - 1} trees and {len(sets.is_categorical)} features "
            f"for {n_trees} trees and {n_features} features"
        )
    return sets.sets


cdef int refuse_set(int64_t number, int64_t tree) except -1:
    raise ValueError(f"node {number} of tree {tree} splits categories by a set that is not there")
