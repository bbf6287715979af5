/* Dividing rows between the two sides of a cut, eight at a time.

   A shuffle moves the rows of eight that go left to the front and the others to the back; the eight
   are then written at both ends of what is still free. Fewer than eight are padded by rows that go
   right. This takes SSSE3, which x86 processors have had since 2011. Elsewhere has_eight_rows is 0,
   and the loop of row_division.pxd, which divides what is left of eights in any case, divides all
   rows.

   The right side is filled from its end, in another order than by that loop. */

#ifndef LACFOREST_EIGHT_ROWS_H
#define LACFOREST_EIGHT_ROWS_H

#include <stdint.h>
#include <string.h>

#if defined(__x86_64__) && defined(__GNUC__)

#include <tmmintrin.h>

#define LACFOREST_SSSE3 static inline __attribute__((target("ssse3"), always_inline))

/* By the bits of the rows that go right: where each of the sorted eight comes from, as bytes, and
   how many go right. */
static uint8_t lacforest_order[256][16] __attribute__((aligned(16)));
static uint8_t lacforest_n_right[256];
static int lacforest_has_eight_rows = 0;

static void prepare_eight_rows(void)
{
    for (int mask = 0; mask < 256; mask++) {
        int place = 0;
        for (int side = 0; side < 2; side++) {
            for (int row = 0; row < 8; row++) {
                if ((mask >> row & 1) == side) {
                    lacforest_order[mask][2 * place] = (uint8_t)(2 * row);
                    lacforest_order[mask][2 * place + 1] = (uint8_t)(2 * row + 1);
                    place++;
                    lacforest_n_right[mask] += side;
                }
            }
        }
    }
    lacforest_has_eight_rows = __builtin_cpu_supports("ssse3") != 0;
}

LACFOREST_SSSE3 unsigned lacforest_above_float(
    const float *column, const uint16_t *row, float bound, int missing_right)
{
    __m128 limit = _mm_set1_ps(bound);
    __m128 first = _mm_setr_ps(column[row[0]], column[row[1]], column[row[2]], column[row[3]]);
    __m128 second = _mm_setr_ps(column[row[4]], column[row[5]], column[row[6]], column[row[7]]);
    if (missing_right) {
        first = _mm_cmpnle_ps(first, limit);
        second = _mm_cmpnle_ps(second, limit);
    } else {
        first = _mm_cmpgt_ps(first, limit);
        second = _mm_cmpgt_ps(second, limit);
    }
    return (unsigned)(_mm_movemask_ps(first) | _mm_movemask_ps(second) << 4);
}

LACFOREST_SSSE3 unsigned lacforest_above_double(
    const double *column, const uint16_t *row, double bound, int missing_right)
{
    __m128d limit = _mm_set1_pd(bound);
    unsigned mask = 0;
    for (int pair = 0; pair < 4; pair++) {
        __m128d values = _mm_setr_pd(column[row[2 * pair]], column[row[2 * pair + 1]]);
        values = missing_right ? _mm_cmpnle_pd(values, limit) : _mm_cmpgt_pd(values, limit);
        mask |= (unsigned)_mm_movemask_pd(values) << (2 * pair);
    }
    return mask;
}

/* Write n rows, a multiple of eight, to target[0:n]; return how many of them go left. Whole eights
   are free between the ends until the last is written: neither end reaches what the other holds. */
#define LACFOREST_DIVIDE(name, value_t, above)                                                   \
    LACFOREST_SSSE3 int64_t name##_to(                                                           \
        const value_t *column, const uint16_t *rows, uint16_t *target, int64_t n,                \
        value_t bound, int missing_right)                                                        \
    {                                                                                            \
        int64_t low = 0, high = n;                                                               \
        for (int64_t i = 0; i < n; i += 8) {                                                     \
            unsigned mask = above(column, rows + i, bound, missing_right);                       \
            __m128i sorted = _mm_shuffle_epi8(                                                   \
                _mm_loadu_si128((const __m128i *)(rows + i)),                                    \
                _mm_load_si128((const __m128i *)lacforest_order[mask]));                         \
            int64_t n_right = lacforest_n_right[mask];                                           \
            _mm_storeu_si128((__m128i *)(target + low), sorted);                                 \
            _mm_storeu_si128((__m128i *)(target + high - 8), sorted);                            \
            low += 8 - n_right;                                                                  \
            high -= n_right;                                                                     \
        }                                                                                        \
        return low;                                                                              \
    }                                                                                            \
    __attribute__((target("ssse3"))) static int64_t name(                                        \
        const value_t *column, const uint16_t *rows, uint16_t *target, int64_t n,                \
        value_t bound, int missing_right)                                                        \
    {                                                                                            \
        return missing_right ? name##_to(column, rows, target, n, bound, 1)                      \
                             : name##_to(column, rows, target, n, bound, 0);                     \
    }

LACFOREST_DIVIDE(divide_floats, float, lacforest_above_float)
LACFOREST_DIVIDE(divide_doubles, double, lacforest_above_double)

static const uint16_t lacforest_lanes[16] = {
    0xFFFF, 0xFFFF, 0xFFFF, 0xFFFF, 0xFFFF, 0xFFFF, 0xFFFF, 0xFFFF};

/* Write n <= 8 rows to target, and anything after them up to the eighth; return how many go left.
   Eight rows can be read, of which those after the first n may be anything: row 0 takes their place.
   No branch depends on n or on the side of missing values, which change from node to node. */
#define LACFOREST_DIVIDE_FEW(name, value_t, above)                                               \
    __attribute__((target("ssse3"))) static int64_t name(                                        \
        const value_t *column, const uint16_t *rows, uint16_t *target, int64_t n,                \
        value_t bound, int missing_right)                                                        \
    {                                                                                            \
        uint16_t padded[8];                                                                      \
        __m128i first = _mm_and_si128(                                                           \
            _mm_loadu_si128((const __m128i *)rows),                                              \
            _mm_loadu_si128((const __m128i *)(lacforest_lanes + 8 - n)));                        \
        _mm_storeu_si128((__m128i *)padded, first);                                              \
        unsigned mask = above(column, padded, bound, 0);                                         \
        mask |= above(column, padded, bound, 1) & (0u - (unsigned)missing_right);                \
        mask = (mask | 0xFFu << n) & 0xFF;                                                       \
        _mm_storeu_si128(                                                                        \
            (__m128i *)target,                                                                   \
            _mm_shuffle_epi8(first, _mm_load_si128((const __m128i *)lacforest_order[mask])));    \
        return 8 - lacforest_n_right[mask];                                                      \
    }

LACFOREST_DIVIDE_FEW(divide_few_floats, float, lacforest_above_float)
LACFOREST_DIVIDE_FEW(divide_few_doubles, double, lacforest_above_double)

#else

static const int lacforest_has_eight_rows = 0;

static void prepare_eight_rows(void) {}

/* Never called: there are no eight rows. */
#define LACFOREST_DIVIDE_NOTHING(name, value_t)                                                  \
    static inline int64_t name(                                                                  \
        const value_t *column, const uint16_t *rows, uint16_t *target, int64_t n, value_t bound, \
        int missing_right)                                                                       \
    {                                                                                            \
        return 0;                                                                                \
    }

LACFOREST_DIVIDE_NOTHING(divide_floats, float)
LACFOREST_DIVIDE_NOTHING(divide_doubles, double)
LACFOREST_DIVIDE_NOTHING(divide_few_floats, float)
LACFOREST_DIVIDE_NOTHING(divide_few_doubles, double)

#endif

/* The largest float that is at most a threshold, which is not NaN. */
static inline float float_at_most(double threshold)
{
    float nearest = (float)threshold;
    int32_t bits;
    memcpy(&bits, &nearest, sizeof bits);
    /* Bits of floats of one sign are in order of their magnitude; the nearest float of a negative
       threshold near 0 is -0. No branch: cuts lie above and below their floats by chance. */
    bits -= ((double)nearest > threshold) * (bits >> 31 | 1);
    memcpy(&nearest, &bits, sizeof bits);
    return nearest;
}

static inline int has_eight_rows(void) { return lacforest_has_eight_rows; }

/* Have memory loaded that will be read some steps later. */
static inline void fetch_ahead(const void *address)
{
#if defined(__GNUC__)
    __builtin_prefetch(address);
#endif
}

#endif
