/* The inner loops of Shapley values.

   On x86 each loop is compiled twice: for every processor, and for those with AVX2, whose registers
   hold twice as many numbers. Both are the same source, and neither fuses a product with a sum, so
   results are the same bits. */

#ifndef LACFOREST_WIDE_LOOPS_H
#define LACFOREST_WIDE_LOOPS_H

#include <stdint.h>

#define LACFOREST_COLUMNS 16

#if defined(__GNUC__)
#define LACFOREST_BODY static inline __attribute__((always_inline))
#else
#define LACFOREST_BODY static inline
#endif

#if defined(__x86_64__) && defined(__GNUC__)

static int lacforest_has_wide_loops = 0;

static void prepare_wide_loops(void)
{
    lacforest_has_wide_loops = __builtin_cpu_supports("avx2") != 0;
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

static void prepare_wide_loops(void) {}

#define LACFOREST_TWICE(name, parameters, arguments)                                             \
    static inline void name parameters { name##_body arguments; }

#endif

/* Add to sixteen sums of each row those of its slot in each of four lists of slots. */
LACFOREST_BODY void add_four_slots_body(
    const double *values, int64_t value_stride, const uint16_t *slots, int64_t slot_stride,
    int64_t n_rows, double *sums)
{
    for (int64_t i = 0; i < n_rows; i++) {
        const double *one = values + slots[i] * LACFOREST_COLUMNS;
        const double *two = values + value_stride + slots[slot_stride + i] * LACFOREST_COLUMNS;
        const double *three =
            values + 2 * value_stride + slots[2 * slot_stride + i] * LACFOREST_COLUMNS;
        const double *four =
            values + 3 * value_stride + slots[3 * slot_stride + i] * LACFOREST_COLUMNS;
        double total[LACFOREST_COLUMNS];
        for (int c = 0; c < LACFOREST_COLUMNS; c++)
            total[c] = ((one[c] + two[c]) + three[c]) + four[c];
        for (int c = 0; c < LACFOREST_COLUMNS; c++)
            sums[c] += total[c];
        sums += LACFOREST_COLUMNS;
    }
}

LACFOREST_TWICE(
    add_four_slots,
    (const double *values, int64_t value_stride, const uint16_t *slots, int64_t slot_stride,
     int64_t n_rows, double *sums),
    (values, value_stride, slots, slot_stride, n_rows, sums))

/* Add to sixteen sums of each slot those at its place in a list. */
LACFOREST_BODY void add_places_body(
    const double *values, const uint16_t *place, int32_t n_slots, double *sums)
{
    for (int32_t i = 0; i < n_slots; i++) {
        const double *source = values + place[i] * LACFOREST_COLUMNS;
        double total[LACFOREST_COLUMNS];
        for (int c = 0; c < LACFOREST_COLUMNS; c++)
            total[c] = sums[c] + source[c];
        for (int c = 0; c < LACFOREST_COLUMNS; c++)
            sums[c] = total[c];
        sums += LACFOREST_COLUMNS;
    }
}

LACFOREST_TWICE(
    add_places, (const double *values, const uint16_t *place, int32_t n_slots, double *sums),
    (values, place, n_slots, sums))

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
