/* Codes of one byte, row by row: all columns of a row are read at once.

   A row has `width` bytes, a multiple of 16; those beyond the last column are zero. `rows` NULL
   stands for rows one after the other. x86 processors compare 16 bytes in one instruction (SSE2,
   which all of 64 bits have). */

#ifndef LACFOREST_ROW_CODES_H
#define LACFOREST_ROW_CODES_H

#include <stdint.h>
#include <string.h>

#if defined(__SSE2__)
#include <emmintrin.h>
#endif

static inline const uint8_t *row_at(
    const uint8_t *codes, int32_t width, const uint32_t *rows, int64_t i)
{
    return codes + (rows ? (int64_t)rows[i] : i) * width;
}

/* Copy the codes of some columns to rows of their own. */
static inline void copy_columns(
    const uint8_t *codes, int32_t width, const uint32_t *rows, int64_t n_rows,
    const int32_t *columns, int32_t n_columns, int32_t width_of_copies, uint8_t *copies)
{
    for (int64_t i = 0; i < n_rows; i++) {
        const uint8_t *row = row_at(codes, width, rows, i);
        for (int32_t c = 0; c < n_columns; c++)
            copies[c] = row[columns[c]];
        for (int32_t c = n_columns; c < width_of_copies; c++)
            copies[c] = 0;
        copies += width_of_copies;
    }
}

/* Lowest and highest code of some rows, by column. */
static inline void find_code_ranges(
    const uint8_t *codes, int32_t width, const uint32_t *rows, int64_t n_rows, uint8_t *low,
    uint8_t *high)
{
    for (int32_t first = 0; first < width; first += 16) {
#if defined(__SSE2__)
        __m128i lowest = _mm_set1_epi8(-1), highest = _mm_setzero_si128();
        for (int64_t i = 0; i < n_rows; i++) {
            __m128i row = _mm_loadu_si128(
                (const __m128i *)(row_at(codes, width, rows, i) + first));
            lowest = _mm_min_epu8(lowest, row);
            highest = _mm_max_epu8(highest, row);
        }
        _mm_storeu_si128((__m128i *)(low + first), lowest);
        _mm_storeu_si128((__m128i *)(high + first), highest);
#else
        for (int32_t column = first; column < first + 16; column++) {
            low[column] = 255;
            high[column] = 0;
        }
        for (int64_t i = 0; i < n_rows; i++) {
            const uint8_t *row = row_at(codes, width, rows, i);
            for (int32_t column = first; column < first + 16; column++) {
                low[column] = row[column] < low[column] ? row[column] : low[column];
                high[column] = row[column] > high[column] ? row[column] : high[column];
            }
        }
#endif
    }
}

/* Count the rows with codes up to last[column] + e for e = 0 ... n_ends - 1, by e, class and column:
   n_counts for each e. few has a byte per count. */
static inline void count_codes_up_to(
    const uint8_t *codes, int32_t width, const uint32_t *rows, const uint16_t *classes,
    int64_t n_rows, const uint8_t *last, int64_t n_ends, int64_t n_counts, uint8_t *few,
    uint32_t *counts)
{
    memset(counts, 0, (size_t)(n_ends * n_counts) * sizeof(uint32_t));
    /* A byte counts 255 rows. */
    for (int64_t begin = 0; begin < n_rows; begin += 255) {
        int64_t end = n_rows - begin < 255 ? n_rows : begin + 255;
        memset(few, 0, (size_t)(n_ends * n_counts));
        for (int64_t i = begin; i < end; i++) {
            const uint8_t *row = row_at(codes, width, rows, i);
            for (int32_t first = 0; first < width; first += 16) {
                uint8_t *own = few + (int64_t)classes[i] * width + first;
#if defined(__SSE2__)
                __m128i code = _mm_loadu_si128((const __m128i *)(row + first));
                __m128i most = _mm_loadu_si128((const __m128i *)(last + first));
                for (int64_t e = 0; e < n_ends; e++) {
                    __m128i n_own = _mm_loadu_si128((const __m128i *)own);
                    /* All bits, which is -1, where the code is at most `most`. */
                    __m128i is_left = _mm_cmpeq_epi8(_mm_min_epu8(code, most), code);
                    _mm_storeu_si128((__m128i *)own, _mm_sub_epi8(n_own, is_left));
                    most = _mm_adds_epu8(most, _mm_set1_epi8(1));
                    own += n_counts;
                }
#else
                for (int64_t e = 0; e < n_ends; e++) {
                    for (int32_t column = 0; column < 16; column++)
                        own[column] += row[first + column] <= last[first + column] + e;
                    own += n_counts;
                }
#endif
            }
        }
        for (int64_t j = 0; j < n_ends * n_counts; j++)
            counts[j] += few[j];
    }
}

#endif
