/* The inner loops of Shapley values.

   On x86 each loop is there twice: for every processor, and for those with AVX2, whose registers
   hold twice as many numbers. Both do the same operations in the same order for each number, and
   neither fuses a product with a sum, so results are the same bits. */

#ifndef LACFOREST_WIDE_LOOPS_H
#define LACFOREST_WIDE_LOOPS_H

#include <stdint.h>
#include <string.h>

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

/* Values of a term for some masks, `width` of them, 8 or 16, at the place of each mask; see
   prepare_term for the tables. The bit of a column in the mask is at 31 after a shift by
   shifts[column]. Sums are in double precision; values are rounded once. */
static inline void evaluate_masks_plain(
    const uint16_t *masks, int32_t n_masks, const double *low, const double *high, int32_t n_low,
    const double *gain, const int32_t *shifts, int32_t n_points, int32_t width, float *values)
{
    for (int32_t i = 0; i < n_masks; i++) {
        const double *one = low + (masks[i] & ((1 << n_low) - 1)) * LACFOREST_POINTS;
        const double *two = high + (masks[i] >> n_low) * LACFOREST_POINTS;
        float *const target = values + masks[i] * width;
        double satisfied[LACFOREST_COLUMNS] = {0.0}, violated = 0.0;
        for (int32_t q = 0; q < n_points; q++) {
            const double product = one[q] * two[q];
            const double *factors = gain + q * LACFOREST_FACTORS;
            for (int32_t c = 0; c < width; c++)
                satisfied[c] += product * factors[c];
            violated += product * factors[LACFOREST_COLUMNS];
        }
        for (int32_t c = 0; c < width; c++)
            target[c] = (float)((uint32_t)masks[i] << shifts[c] >> 31 ? violated : satisfied[c]);
    }
}

#if defined(__x86_64__) && defined(__GNUC__)

#define LACFOREST_EVALUATE(n)                                                                    \
    for (int32_t i = 0; i < n_masks; i++) {                                                      \
        const double *one = low + (masks[i] & ((1 << n_low) - 1)) * LACFOREST_POINTS;            \
        const double *two = high + (masks[i] >> n_low) * LACFOREST_POINTS;                       \
        const __m128i mask = _mm_set1_epi32(masks[i]);                                           \
        float *const target = values + masks[i] * (4 * n);                                       \
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
            _mm_storeu_ps(                                                                       \
                target + 4 * c,                                                                  \
                _mm_blendv_ps(                                                                   \
                    _mm256_cvtpd_ps(satisfied[c]), _mm256_cvtpd_ps(violated),                    \
                    _mm_castsi128_ps(_mm_sllv_epi32(                                             \
                        mask, _mm_loadu_si128((const __m128i *)(shifts + 4 * c))))));            \
    }

__attribute__((target("avx2"))) static void evaluate_masks_wide(
    const uint16_t *masks, int32_t n_masks, const double *low, const double *high, int32_t n_low,
    const double *gain, const int32_t *shifts, int32_t n_points, int32_t width, float *values)
{
    if (width == 8) {
        LACFOREST_EVALUATE(2)
    } else {
        LACFOREST_EVALUATE(4)
    }
}
#endif

static inline void evaluate_masks(
    const uint16_t *masks, int32_t n_masks, const double *low, const double *high, int32_t n_low,
    const double *gain, const int32_t *shifts, int32_t n_points, int32_t width, float *values)
{
#if defined(__x86_64__) && defined(__GNUC__)
    if (lacforest_has_wide_loops) {
        evaluate_masks_wide(
            masks, n_masks, low, high, n_low, gain, shifts, n_points, width, values);
        return;
    }
#endif
    evaluate_masks_plain(
        masks, n_masks, low, high, n_low, gain, shifts, n_points, width, values);
}

/* Mark the keys of rows. Four keys at a time take one access to memory instead of four. */
static inline void mark_occurring(const uint16_t *keys, int64_t n_rows, uint8_t *occurs)
{
    int64_t i = 0;
    for (; i < n_rows - 3; i += 4) {
        uint64_t four;
        memcpy(&four, keys + i, sizeof four);
        occurs[four & 0xFFFF] = 1;
        occurs[four >> 16 & 0xFFFF] = 1;
        occurs[four >> 32 & 0xFFFF] = 1;
        occurs[four >> 48] = 1;
    }
    for (; i < n_rows; i++)
        occurs[keys[i]] = 1;
}

/* Put the slot of each key in its place, four at a time too. */
static inline void replace_keys(uint16_t *keys, int64_t n_rows, const uint16_t *slot_of)
{
    int64_t i = 0;
    for (; i < n_rows - 3; i += 4) {
        uint64_t four;
        memcpy(&four, keys + i, sizeof four);
        four = slot_of[four & 0xFFFF] | (uint64_t)slot_of[four >> 16 & 0xFFFF] << 16 |
               (uint64_t)slot_of[four >> 32 & 0xFFFF] << 32 | (uint64_t)slot_of[four >> 48] << 48;
        memcpy(keys + i, &four, sizeof four);
    }
    for (; i < n_rows; i++)
        keys[i] = slot_of[keys[i]];
}

/* Number the keys that occur, in their order: slot_of[key], and the key of each slot. Marks of
   keys, 0 or 1, are set back to 0; they are read to the end of the last 64. */
static inline int32_t list_keys(
    uint8_t *occurs, int64_t n_keys, uint16_t *slot_of, uint16_t *key)
{
    int32_t n_slots = 0;
    for (int64_t first = 0; first < n_keys; first += 64) {
#if defined(__x86_64__) && defined(__GNUC__)
        uint64_t found = 0;
        for (int k = 0; k < 4; k++) {
            const __m128i marks = _mm_loadu_si128((const __m128i *)(occurs + first) + k);
            found |= (uint64_t)(uint32_t)_mm_movemask_epi8(_mm_slli_epi16(marks, 7)) << 16 * k;
        }
        for (; found; found &= found - 1) {
            const int64_t one = first + __builtin_ctzll(found);
            occurs[one] = 0;
            slot_of[one] = (uint16_t)n_slots;
            key[n_slots++] = (uint16_t)one;
        }
#else
        for (int64_t one = first; one < first + 64; one++) {
            if (occurs[one]) {
                occurs[one] = 0;
                slot_of[one] = (uint16_t)n_slots;
                key[n_slots++] = (uint16_t)one;
            }
        }
#endif
    }
    return n_slots;
}

/* Set a bit of masks where a bit of the key is not `side`. */
LACFOREST_BODY void mark_keys_body(
    const uint16_t *keys, int32_t place, uint16_t side, uint16_t bit, const uint16_t *before,
    uint16_t *after, int32_t n_keys)
{
    for (int32_t i = 0; i < n_keys; i++)
        after[i] = before[i] | ((keys[i] >> place & 1) == side ? 0 : bit);
}

LACFOREST_TWICE(
    mark_keys,
    (const uint16_t *keys, int32_t place, uint16_t side, uint16_t bit, const uint16_t *before,
     uint16_t *after, int32_t n_keys),
    (keys, place, side, bit, before, after, n_keys))

/* Add to the values of each slot those at the place of its mask; a slot has 8 or 16 values.
   Those of a unit's first term are put there instead: slots need not be cleared before. */
LACFOREST_BODY void add_masks_body(
    const float *values, const uint16_t *masks, int32_t n_slots, int32_t width, int is_first,
    float *sums)
{
#define LACFOREST_LOOP(n, sum)                                                                   \
    for (int32_t i = 0; i < n_slots; i++) {                                                      \
        const float *source = values + masks[i] * n;                                             \
        float total[n];                                                                          \
        for (int c = 0; c < n; c++)                                                              \
            total[c] = sum;                                                                      \
        for (int c = 0; c < n; c++)                                                              \
            sums[c] = total[c];                                                                  \
        sums += n;                                                                               \
    }
    if (width == 8 && is_first) {
        LACFOREST_LOOP(8, source[c])
    } else if (width == 8) {
        LACFOREST_LOOP(8, sums[c] + source[c])
    } else if (is_first) {
        LACFOREST_LOOP(16, source[c])
    } else {
        LACFOREST_LOOP(16, sums[c] + source[c])
    }
#undef LACFOREST_LOOP
}

LACFOREST_TWICE(
    add_masks,
    (const float *values, const uint16_t *masks, int32_t n_slots, int32_t width, int is_first,
     float *sums),
    (values, masks, n_slots, width, is_first, sums))

/* Multiply a number of each slot by one factor or another. */
LACFOREST_BODY void scale_slots_body(
    const uint8_t *is_violated, double if_satisfied, double if_violated, int32_t n_slots,
    double *product)
{
    for (int32_t s = 0; s < n_slots; s++)
        product[s] *= is_violated[s] ? if_violated : if_satisfied;
}

/* Add to the value of each slot its product by one factor or another. */
LACFOREST_BODY void add_slots_body(
    const uint8_t *is_violated, double if_satisfied, double if_violated, int32_t n_slots,
    const double *product, double *value)
{
    for (int32_t s = 0; s < n_slots; s++)
        value[s] += product[s] * (is_violated[s] ? if_violated : if_satisfied);
}

LACFOREST_TWICE(
    scale_slots,
    (const uint8_t *is_violated, double if_satisfied, double if_violated, int32_t n_slots,
     double *product),
    (is_violated, if_satisfied, if_violated, n_slots, product))
LACFOREST_TWICE(
    add_slots,
    (const uint8_t *is_violated, double if_satisfied, double if_violated, int32_t n_slots,
     const double *product, double *value),
    (is_violated, if_satisfied, if_violated, n_slots, product, value))

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

#endif
