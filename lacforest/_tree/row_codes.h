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

#if defined(__SSE2__)

/* Bytes of a register that is added to numbers of four bytes. */
static inline void add_bytes(__m128i bytes, uint32_t *counts)
{
    const __m128i zero = _mm_setzero_si128();
    const __m128i halves[2] = {_mm_unpacklo_epi8(bytes, zero), _mm_unpackhi_epi8(bytes, zero)};
    for (int h = 0; h < 2; h++) {
        __m128i *own = (__m128i *)(counts + 8 * h);
        _mm_storeu_si128(
            own, _mm_add_epi32(_mm_loadu_si128(own), _mm_unpacklo_epi16(halves[h], zero)));
        _mm_storeu_si128(
            own + 1, _mm_add_epi32(_mm_loadu_si128(own + 1), _mm_unpackhi_epi16(halves[h], zero)));
    }
}

/* What follows for 16 columns, two classes and n ends, of which the compiler is told: all counts
   stay in registers, so that no count waits for that of the row before. */
static inline __attribute__((always_inline)) void count_two_classes(
    const uint8_t *codes, int32_t width, const uint32_t *rows, const uint16_t *classes,
    int64_t n_rows, __m128i most, const int n, int64_t n_counts, uint32_t *counts)
{
    static const uint32_t is_second[2][4] = {{0}, {~0u, ~0u, ~0u, ~0u}};
    for (int64_t begin = 0; begin < n_rows; begin += 255) {
        const int64_t end = n_rows - begin < 255 ? n_rows : begin + 255;
        __m128i either[4], second[4];
        for (int e = 0; e < n; e++)
            either[e] = second[e] = _mm_setzero_si128();
        for (int64_t i = begin; i < end; i++) {
            const __m128i code = _mm_loadu_si128((const __m128i *)row_at(codes, width, rows, i));
            const __m128i own = _mm_loadu_si128((const __m128i *)is_second[classes[i]]);
            __m128i limit = most;
            for (int e = 0; e < n; e++) {
                /* All bits, which is -1, where the code is at most `limit`. */
                const __m128i is_left = _mm_cmpeq_epi8(_mm_min_epu8(code, limit), code);
                either[e] = _mm_sub_epi8(either[e], is_left);
                second[e] = _mm_sub_epi8(second[e], _mm_and_si128(is_left, own));
                limit = _mm_adds_epu8(limit, _mm_set1_epi8(1));
            }
        }
        for (int e = 0; e < n; e++) {
            add_bytes(_mm_sub_epi8(either[e], second[e]), counts + e * n_counts);
            add_bytes(second[e], counts + e * n_counts + width);
        }
    }
}

#endif

/* Count the rows with codes up to last[column] + e for e = 0 ... n_ends - 1, by e, class and column:
   n_counts for each e. few has a byte per count. */
static inline void count_codes_up_to(
    const uint8_t *codes, int32_t width, const uint32_t *rows, const uint16_t *classes,
    int64_t n_rows, const uint8_t *last, int64_t n_ends, int64_t n_counts, uint8_t *few,
    uint32_t *counts)
{
    memset(counts, 0, (size_t)(n_ends * n_counts) * sizeof(uint32_t));
#if defined(__SSE2__)
    if (n_counts == 2 * width) {
        for (int32_t first = 0; first < width; first += 16) {
            __m128i most = _mm_loadu_si128((const __m128i *)(last + first));
            uint32_t *own = counts + first;
            for (int64_t left = n_ends; left > 0; left -= 4) {
#define LACFOREST_COUNT(n)                                                                       \
    count_two_classes(                                                                           \
        codes + first, width, rows, classes, n_rows, most, n, n_counts, own)
                if (left >= 4)
                    LACFOREST_COUNT(4);
                else if (left == 3)
                    LACFOREST_COUNT(3);
                else if (left == 2)
                    LACFOREST_COUNT(2);
                else
                    LACFOREST_COUNT(1);
#undef LACFOREST_COUNT
                most = _mm_adds_epu8(most, _mm_set1_epi8(4));
                own += 4 * n_counts;
            }
        }
        return;
    }
#endif
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
