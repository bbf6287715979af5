/* The inner loops of Shapley values.

   On x86 each loop is there twice: for every processor, and for those with AVX2, whose registers
   hold twice as many numbers. Both do the same operations in the same order for each number, and
   neither fuses a product with a sum, so results are the same bits. */

#ifndef LACFOREST_WIDE_LOOPS_H
#define LACFOREST_WIDE_LOOPS_H

#include <stdint.h>

#define LACFOREST_COLUMNS 16
#define LACFOREST_POINTS 8
#define LACFOREST_FACTORS 20

#if defined(__GNUC__)
#define LACFOREST_BODY static inline __attribute__((always_inline))
#else
#define LACFOREST_BODY static inline
#endif

#if defined(__x86_64__) && defined(__GNUC__)

#include <immintrin.h>

static int lacforest_has_wide_loops = 0;

static void prepare_wide_loops(int are_allowed)
{
    lacforest_has_wide_loops = are_allowed && __builtin_cpu_supports("avx2");
}

#define LACFOREST_TWICE(name, parameters, arguments)                                             \
    static void __attribute__((target("avx2"))) name##_wide parameters { name##_body arguments; }\
    static void name##_plain parameters { name##_body arguments; }                               \
    static inline void name parameters                                                           \
    {                                                                                            \
        if (lacforest_has_wide_loops)                                                            \
            name##_wide arguments;                                                               \
        else                                                                                     \
            name##_plain arguments;                                                              \
    }

#else

static void prepare_wide_loops(int are_allowed) { (void)are_allowed; }

#define LACFOREST_TWICE(name, parameters, arguments)                                             \
    static inline void name parameters { name##_body arguments; }

#endif

/* Run a loop with a constant number of columns, a multiple of four up to LACFOREST_COLUMNS. */
#define LACFOREST_BY_WIDTH(width, loop)                                                          \
    switch (width) {                                                                             \
    case 4: loop(4); break;                                                                      \
    case 8: loop(8); break;                                                                      \
    case 12: loop(12); break;                                                                    \
    default: loop(16);                                                                           \
    }

/* Values of a term for some masks; see prepare_term for the tables. */
static inline void evaluate_masks_plain(
    const uint16_t *masks, int32_t n_masks, const double *low, const double *high, int32_t n_low,
    const double *gain, int32_t n_points, int32_t width, double *values)
{
    for (int32_t i = 0; i < n_masks; i++) {
        const double *one = low + (masks[i] & ((1 << n_low) - 1)) * LACFOREST_POINTS;
        const double *two = high + (masks[i] >> n_low) * LACFOREST_POINTS;
        double satisfied[LACFOREST_COLUMNS] = {0.0}, violated = 0.0;
        for (int32_t q = 0; q < n_points; q++) {
            const double product = one[q] * two[q];
            const double *factors = gain + q * LACFOREST_FACTORS;
            for (int32_t c = 0; c < width; c++)
                satisfied[c] += product * factors[c];
            violated += product * factors[LACFOREST_COLUMNS];
        }
        for (int32_t c = 0; c < width; c++)
            values[c] = (masks[i] >> c) & 1 ? violated : satisfied[c];
        values += width;
    }
}

#if defined(__x86_64__) && defined(__GNUC__)

#define LACFOREST_EVALUATE(n)                                                                    \
    for (int32_t i = 0; i < n_masks; i++) {                                                      \
        const double *one = low + (masks[i] & ((1 << n_low) - 1)) * LACFOREST_POINTS;            \
        const double *two = high + (masks[i] >> n_low) * LACFOREST_POINTS;                       \
        __m256d satisfied[n], violated = _mm256_setzero_pd();                                    \
        for (int c = 0; c < n; c++)                                                              \
            satisfied[c] = violated;                                                             \
        for (int32_t q = 0; q < n_points; q++) {                                                 \
            const __m256d product = _mm256_set1_pd(one[q] * two[q]);                             \
            const double *factors = gain + q * LACFOREST_FACTORS;                                \
            for (int c = 0; c < n; c++)                                                          \
                satisfied[c] = _mm256_add_pd(                                                    \
                    satisfied[c], _mm256_mul_pd(product, _mm256_loadu_pd(factors + 4 * c)));     \
            violated = _mm256_add_pd(                                                            \
                violated,                                                                        \
                _mm256_mul_pd(product, _mm256_broadcast_sd(factors + LACFOREST_COLUMNS)));       \
        }                                                                                        \
        for (int c = 0; c < n; c++)                                                              \
            _mm256_storeu_pd(                                                                    \
                values + 4 * c,                                                                  \
                _mm256_blendv_pd(                                                                \
                    satisfied[c], violated,                                                      \
                    _mm256_castsi256_pd(_mm256_sllv_epi64(                                       \
                        _mm256_set1_epi64x(masks[i] >> 4 * c),                                   \
                        _mm256_setr_epi64x(63, 62, 61, 60)))));                                  \
        values += 4 * n;                                                                         \
    }

__attribute__((target("avx2"))) static void evaluate_masks_wide(
    const uint16_t *masks, int32_t n_masks, const double *low, const double *high, int32_t n_low,
    const double *gain, int32_t n_points, int32_t width, double *values)
{
    switch (width) {
    case 4: LACFOREST_EVALUATE(1) break;
    case 8: LACFOREST_EVALUATE(2) break;
    case 12: LACFOREST_EVALUATE(3) break;
    default: LACFOREST_EVALUATE(4)
    }
}
#endif

static inline void evaluate_masks(
    const uint16_t *masks, int32_t n_masks, const double *low, const double *high, int32_t n_low,
    const double *gain, int32_t n_points, int32_t width, double *values)
{
#if defined(__x86_64__) && defined(__GNUC__)
    if (lacforest_has_wide_loops) {
        evaluate_masks_wide(
            masks, n_masks, low, high, n_low, gain, n_points, width, values);
        return;
    }
#endif
    evaluate_masks_plain(masks, n_masks, low, high, n_low, gain, n_points, width, values);
}

/* Number the different masks as they occur: places[i] is that of masks[i], found[place] the mask.

   Without branches, which could not be foreseen as many masks are new; a compiler makes a branch of
   a condition here, so there is none. place_of has 0xFFFF for every mask, before and after, and all
   places are below 0x8000. One entry of found too many is written. */
static inline int32_t number_masks(
    const uint16_t *masks, int32_t n_masks, uint16_t *place_of, uint16_t *found, uint16_t *places)
{
    uint32_t n_found = 0;
    for (int32_t i = 0; i < n_masks; i++) {
        const uint32_t place = place_of[masks[i]], is_new = place >> 15;
        const uint32_t now = place ^ ((place ^ n_found) & (0u - is_new));
        found[n_found] = masks[i];
        places[i] = place_of[masks[i]] = (uint16_t)now;
        n_found += is_new;
    }
    for (uint32_t i = 0; i < n_found; i++)
        place_of[found[i]] = 0xFFFF;
    return (int32_t)n_found;
}

/* Add to the values of each slot those at its place in a list. */
LACFOREST_BODY void add_places_body(
    const double *values, const uint16_t *place, int32_t n_slots, int32_t width, double *sums)
{
#define LACFOREST_LOOP(n)                                                                        \
    for (int32_t i = 0; i < n_slots; i++) {                                                      \
        const double *source = values + place[i] * n;                                            \
        double total[n];                                                                         \
        for (int c = 0; c < n; c++)                                                              \
            total[c] = sums[c] + source[c];                                                      \
        for (int c = 0; c < n; c++)                                                              \
            sums[c] = total[c];                                                                  \
        sums += n;                                                                               \
    }
    LACFOREST_BY_WIDTH(width, LACFOREST_LOOP)
#undef LACFOREST_LOOP
}

LACFOREST_TWICE(
    add_places,
    (const double *values, const uint16_t *place, int32_t n_slots, int32_t width, double *sums),
    (values, place, n_slots, width, sums))

/* Set one bit or another by whether a rank, after a shift that wraps around, is above a cut. */
#define LACFOREST_MARK(name, rank_t)                                                             \
    LACFOREST_BODY void name##_body(                                                             \
        const rank_t *ranks, rank_t shift, rank_t cut, uint16_t if_right, uint16_t if_left,      \
        const uint16_t *before, uint16_t *after, int64_t n_rows)                                 \
    {                                                                                            \
        for (int64_t i = 0; i < n_rows; i++)                                                     \
            after[i] = before[i] | ((rank_t)(ranks[i] + shift) > cut ? if_right : if_left);      \
    }                                                                                            \
    LACFOREST_TWICE(                                                                             \
        name,                                                                                    \
        (const rank_t *ranks, rank_t shift, rank_t cut, uint16_t if_right, uint16_t if_left,     \
         const uint16_t *before, uint16_t *after, int64_t n_rows),                               \
        (ranks, shift, cut, if_right, if_left, before, after, n_rows))

LACFOREST_MARK(mark_narrow, uint16_t)
LACFOREST_MARK(mark_long, uint32_t)

/* Add to four columns of rows, from the first one on, the values of each row's slot. */
static inline void add_columns_plain(
    const double *values, int32_t width, const uint16_t *slots, int64_t first, int64_t n_rows,
    double *const *columns)
{
    double *one = columns[0], *two = columns[1], *three = columns[2], *four = columns[3];
    for (int64_t i = first; i < n_rows; i++) {
        const double *source = values + (int64_t)slots[i] * width;
        one[i] += source[0];
        two[i] += source[1];
        three[i] += source[2];
        four[i] += source[3];
    }
}

#if defined(__x86_64__) && defined(__GNUC__)

/* Four rows at a time are turned into four columns. */
__attribute__((target("avx2"))) static void add_columns_wide(
    const double *values, int32_t width, const uint16_t *slots, int64_t n_rows,
    double *const *columns)
{
    double *one = columns[0], *two = columns[1], *three = columns[2], *four = columns[3];
    int64_t i = 0;
    for (; i < n_rows - 3; i += 4) {
        __m256d a = _mm256_loadu_pd(values + (int64_t)slots[i] * width);
        __m256d b = _mm256_loadu_pd(values + (int64_t)slots[i + 1] * width);
        __m256d c = _mm256_loadu_pd(values + (int64_t)slots[i + 2] * width);
        __m256d d = _mm256_loadu_pd(values + (int64_t)slots[i + 3] * width);
        __m256d ab_even = _mm256_unpacklo_pd(a, b), ab_odd = _mm256_unpackhi_pd(a, b);
        __m256d cd_even = _mm256_unpacklo_pd(c, d), cd_odd = _mm256_unpackhi_pd(c, d);
        __m256d first = _mm256_add_pd(
            _mm256_loadu_pd(one + i), _mm256_permute2f128_pd(ab_even, cd_even, 0x20));
        __m256d second = _mm256_add_pd(
            _mm256_loadu_pd(two + i), _mm256_permute2f128_pd(ab_odd, cd_odd, 0x20));
        __m256d third = _mm256_add_pd(
            _mm256_loadu_pd(three + i), _mm256_permute2f128_pd(ab_even, cd_even, 0x31));
        __m256d fourth = _mm256_add_pd(
            _mm256_loadu_pd(four + i), _mm256_permute2f128_pd(ab_odd, cd_odd, 0x31));
        _mm256_storeu_pd(one + i, first);
        _mm256_storeu_pd(two + i, second);
        _mm256_storeu_pd(three + i, third);
        _mm256_storeu_pd(four + i, fourth);
    }
    add_columns_plain(values, width, slots, i, n_rows, columns);
}

static inline void add_columns(
    const double *values, int32_t width, const uint16_t *slots, int64_t n_rows,
    double *const *columns)
{
    if (lacforest_has_wide_loops)
        add_columns_wide(values, width, slots, n_rows, columns);
    else
        add_columns_plain(values, width, slots, 0, n_rows, columns);
}

#else

static inline void add_columns(
    const double *values, int32_t width, const uint16_t *slots, int64_t n_rows,
    double *const *columns)
{
    add_columns_plain(values, width, slots, 0, n_rows, columns);
}

#endif
#endif
