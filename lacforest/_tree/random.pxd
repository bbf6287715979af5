"""SplitMix64, the generator of feature draws and bootstrap samples.

A stream is one 64-bit state. Every tree gets streams of its own from numpy's SeedSequence, one for
each purpose.
"""

from libc.math cimport ilogb, ldexp, rint

from lacforest._tree.types cimport check, int32_t, uint32_t, uint64_t


cdef inline uint64_t next_word(uint64_t* state) noexcept nogil:
    cdef uint64_t z
    state[0] += <uint64_t> 0x9E3779B97F4A7C15
    z = state[0]
    z = (z ^ (z >> 30)) * <uint64_t> 0xBF58476D1CE4E5B9
    z = (z ^ (z >> 27)) * <uint64_t> 0x94D049BB133111EB
    return z ^ (z >> 31)


cdef inline uint32_t draw_below(uint64_t* state, uint32_t bound) noexcept nogil:
    """Uniform in [0, bound), by multiplication: the bias is below bound / 2**32."""
    return <uint32_t> (((next_word(state) >> 32) * <uint64_t> bound) >> 32)


cdef inline int32_t draw_feature(
    int32_t* features, int32_t n_drawn, int32_t n_features, uint64_t* state
) noexcept nogil:
    """Draw a feature that is not among features[:n_drawn], and append it to them.

    One step of Fisher-Yates on the permutation `features`.
    """
    cdef int32_t other = n_drawn + <int32_t> draw_below(state, <uint32_t> (n_features - n_drawn))
    cdef int32_t feature
    check(n_drawn <= other < n_features)
    feature = features[other]
    features[other] = features[n_drawn]
    features[n_drawn] = feature
    return feature


cdef inline double value_between(double low, double high, uint64_t word) noexcept nogil:
    """The value at a share word / 2**64 of the way from low to high: at least low, below high."""
    cdef double share = <double> (word >> 11) * (1.0 / 9007199254740992.0)   # 53 bits in [0, 1)
    cdef double value = low + share * (high - low)
    if high - low > 1.7e308:         # the difference overflowed
        value = (1.0 - share) * low + share * high
    return value if low <= value < high else low


cdef inline double with_few_bits(double value, double low, double high) noexcept nogil:
    """A number with few bits close to `value`: at least low, below high.

    It is a multiple of a power of two, with 16 to 31 steps from low to high. The bits that a draw
    fills with noise would be half of what trees take in a file.
    """
    cdef double step = ldexp(1.0, ilogb(high - low) - 4)
    cdef double found = rint(value / step) * step
    if found < low:
        found += step
    elif found >= high:
        found -= step
    # A gap of nearly all numbers, or of hardly any, has no such step.
    return found if low <= found < high else value
