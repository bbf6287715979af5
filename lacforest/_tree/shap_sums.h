/* What adds Shapley values up: terms of units to the sums of rows, and sums to results.

   Loops are there twice, as in wide_loops.h. */

#ifndef LACFOREST_SHAP_SUMS_H
#define LACFOREST_SHAP_SUMS_H

#include "wide_loops.h"

/* Add to rows of 16 sums the values of each row's slot in some units, one unit after the other. */
static inline void add_rows_plain(
    const float *const *values, const uint16_t *slots, int64_t slot_stride, int32_t n_units,
    int64_t n_rows, float *sums)
{
    for (int64_t i = 0; i < n_rows; i++) {
        for (int32_t u = 0; u < n_units; u++) {
            const float *source = values[u] + slots[u * slot_stride + i] * LACFOREST_COLUMNS;
            for (int c = 0; c < LACFOREST_COLUMNS; c++)
                sums[c] += source[c];
        }
        sums += LACFOREST_COLUMNS;
    }
}

/* Add to four columns of rows, from the first one on, the values of each row's slot. */
static inline void add_columns_plain(
    const float *values, int32_t width, const uint16_t *slots, int64_t first, int64_t n_rows,
    float *const *columns)
{
    for (int64_t i = first; i < n_rows; i++) {
        const float *source = values + (int64_t)slots[i] * width;
        for (int c = 0; c < 4; c++)
            columns[c][i] += source[c];
    }
}

/* Add to results in double precision, which stand by row, the sums of rows and features from a
   first one on; the sums become 0. */
static inline void move_sums_plain(
    float *sums, int64_t row_stride, int64_t feature_stride, int64_t first_row, int64_t n_rows,
    int64_t first_feature, int64_t n_features, double *results)
{
    for (int64_t i = first_row; i < n_rows; i++) {
        for (int64_t k = first_feature; k < n_features; k++) {
            results[i * n_features + k] += sums[i * row_stride + k * feature_stride];
            sums[i * row_stride + k * feature_stride] = 0.0f;
        }
    }
}

#if defined(__x86_64__) && defined(__GNUC__)

/* The sums of a row stay in registers. */
__attribute__((target("avx2"))) static void add_rows_wide(
    const float *const *values, const uint16_t *slots, int64_t slot_stride, int32_t n_units,
    int64_t n_rows, float *sums)
{
    for (int64_t i = 0; i < n_rows; i++) {
        __m256 one = _mm256_loadu_ps(sums), two = _mm256_loadu_ps(sums + 8);
        const uint16_t *slot = slots + i;
        for (int32_t u = 0; u < n_units; u++) {
            const float *source = values[u] + *slot * LACFOREST_COLUMNS;
            one = _mm256_add_ps(one, _mm256_loadu_ps(source));
            two = _mm256_add_ps(two, _mm256_loadu_ps(source + 8));
            slot += slot_stride;
        }
        _mm256_storeu_ps(sums, one);
        _mm256_storeu_ps(sums + 8, two);
        sums += LACFOREST_COLUMNS;
    }
}

/* Four values of two rows, which are four rows apart. */
#define LACFOREST_HALVES(row, n)                                                                 \
    _mm256_insertf128_ps(                                                                        \
        _mm256_castps128_ps256(_mm_loadu_ps(values + (int64_t)slots[i + row] * n)),              \
        _mm_loadu_ps(values + (int64_t)slots[i + row + 4] * n), 1)
#define LACFOREST_ADD(column, more)                                                              \
    _mm256_storeu_ps(column + i, _mm256_add_ps(_mm256_loadu_ps(column + i), more));
#define LACFOREST_LOOP(n)                                                                        \
    for (; i < n_rows - 7; i += 8) {                                                             \
        const __m256 a = LACFOREST_HALVES(0, n), b = LACFOREST_HALVES(1, n);                     \
        const __m256 d = LACFOREST_HALVES(2, n), e = LACFOREST_HALVES(3, n);                     \
        const __m256 ab_low = _mm256_unpacklo_ps(a, b), ab_high = _mm256_unpackhi_ps(a, b);      \
        const __m256 de_low = _mm256_unpacklo_ps(d, e), de_high = _mm256_unpackhi_ps(d, e);      \
        LACFOREST_ADD(one, _mm256_shuffle_ps(ab_low, de_low, 0x44))                              \
        LACFOREST_ADD(two, _mm256_shuffle_ps(ab_low, de_low, 0xEE))                              \
        LACFOREST_ADD(three, _mm256_shuffle_ps(ab_high, de_high, 0x44))                          \
        LACFOREST_ADD(four, _mm256_shuffle_ps(ab_high, de_high, 0xEE))                           \
    }

/* Eight rows at a time are turned into columns. */
__attribute__((target("avx2"))) static void add_columns_wide(
    const float *values, int32_t width, const uint16_t *slots, int64_t n_rows,
    float *const *columns)
{
    float *const one = columns[0], *const two = columns[1];
    float *const three = columns[2], *const four = columns[3];
    int64_t i = 0;
    if (width == 8) {
        LACFOREST_LOOP(8)
    } else {
        LACFOREST_LOOP(16)
    }
    add_columns_plain(values, width, slots, i, n_rows, columns);
}
#undef LACFOREST_LOOP
#endif

static inline void add_rows(
    const float *const *values, const uint16_t *slots, int64_t slot_stride, int32_t n_units,
    int64_t n_rows, float *sums)
{
#if defined(__x86_64__) && defined(__GNUC__)
    if (lacforest_has_wide_loops) {
        add_rows_wide(values, slots, slot_stride, n_units, n_rows, sums);
        return;
    }
#endif
    add_rows_plain(values, slots, slot_stride, n_units, n_rows, sums);
}

static inline void add_columns(
    const float *values, int32_t width, const uint16_t *slots, int64_t n_rows,
    float *const *columns)
{
#if defined(__x86_64__) && defined(__GNUC__)
    if (lacforest_has_wide_loops) {
        add_columns_wide(values, width, slots, n_rows, columns);
        return;
    }
#endif
    add_columns_plain(values, width, slots, 0, n_rows, columns);
}

/* Add sums of all rows and features to the results. */
static inline void move_sums(
    float *sums, int64_t row_stride, int64_t feature_stride, int64_t n_rows, int64_t n_features,
    double *results)
{
    int64_t first = 0;
#if defined(__x86_64__) && defined(__GNUC__)
    /* Of sums that stand by feature, as many rows at a time as a line of the cache holds, and four
       features, which are turned into rows. */
    for (; row_stride == 1 && first < n_rows - 15; first += 16) {
        for (int64_t k = 0; k < n_features - 3; k += 4) {
            for (int64_t i = first; i < first + 16; i += 4) {
                float *const source = sums + k * feature_stride + i;
                __m128 part[4];
                for (int c = 0; c < 4; c++) {
                    part[c] = _mm_loadu_ps(source + c * feature_stride);
                    _mm_storeu_ps(source + c * feature_stride, _mm_setzero_ps());
                }
                _MM_TRANSPOSE4_PS(part[0], part[1], part[2], part[3]);
                for (int c = 0; c < 4; c++) {
                    double *const target = results + (i + c) * n_features + k;
                    _mm_storeu_pd(
                        target, _mm_add_pd(_mm_loadu_pd(target), _mm_cvtps_pd(part[c])));
                    _mm_storeu_pd(
                        target + 2,
                        _mm_add_pd(
                            _mm_loadu_pd(target + 2),
                            _mm_cvtps_pd(_mm_movehl_ps(part[c], part[c]))));
                }
            }
        }
        move_sums_plain(
            sums, row_stride, feature_stride, first, first + 16, n_features & ~(int64_t)3,
            n_features, results);
    }
#endif
    move_sums_plain(
        sums, row_stride, feature_stride, first, n_rows, 0, n_features, results);
}

#endif
