"""SplitMix64, the generator of feature draws and bootstrap samples.

A stream is one 64-bit state. Every tree gets streams of its own from numpy's SeedSequence, one for
each purpose.
"""

from libc.math cimport fabs

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
    """The value at a share word / 2**64 of the way from low to high: at least low, below high.

    It is rounded to single precision if that moves it by less than 2**-16 of the way: the bits that
    a draw fills with noise are half of what trees take in a file.
    """
    cdef double share = <double> (word >> 11) * (1.0 / 9007199254740992.0)   # 53 bits in [0, 1)
    cdef double value = low + share * (high - low)
    cdef double rounded
    if high - low > 1.7e308:         # the difference overflowed
        value = (1.0 - share) * low + share * high
    rounded = <double> <float> value
    if low <= rounded < high and fabs(rounded - value) <= (high - low) * (1.0 / 65536.0):
        return rounded
    return value if low <= value < high else low
