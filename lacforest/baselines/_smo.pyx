"""Sequential minimal optimisation of a quadratic programme whose variables share kernel rows."""

from libc.math cimport INFINITY
from libc.stdint cimport int32_t, int64_t

import numpy as np


# Least curvature: two variables at one point have none along the line on which they are moved.
cdef double FLAT = 1e-12


cdef inline int64_t _widest_gap(
    const double[::1] gain,
    const double[::1] low,
    const double[::1] high,
    const double[::1] alpha,
    const int32_t[::1] point,
    const double[::1] field,
    double* highest,
    double* lowest,
) noexcept nogil:
    """The variable with the highest gain that may rise; that gain, and the lowest that may fall."""
    cdef int64_t v, up = -1
    cdef double value
    highest[0] = -INFINITY
    lowest[0] = INFINITY
    for v in range(alpha.shape[0]):
        value = gain[v] - field[point[v]]
        if value > highest[0] and alpha[v] < high[v]:
            highest[0] = value
            up = v
        if value < lowest[0] and alpha[v] > low[v]:
            lowest[0] = value
    return up


cdef inline int64_t _best_partner(
    const double[:, ::1] kernel,
    const double[::1] gain,
    const double[::1] low,
    const double[::1] alpha,
    const int32_t[::1] point,
    const double[::1] field,
    int64_t up,
) noexcept nogil:
    """The variable that may fall with which the objective rises most (second order)."""
    cdef int64_t v, down = -1
    cdef int32_t own = point[up], other
    cdef double difference, curvature, rise, best = -1.0, highest = gain[up] - field[own]
    for v in range(alpha.shape[0]):
        if alpha[v] <= low[v]:
            continue
        other = point[v]
        difference = highest - (gain[v] - field[other])
        if difference <= 0.0:
            continue
        curvature = kernel[own, own] + kernel[other, other] - 2.0 * kernel[own, other]
        if curvature < FLAT:
            curvature = FLAT
        rise = difference * difference / curvature
        if rise > best:
            best = rise
            down = v
    return down


cdef inline void _step(
    const double[:, ::1] kernel,
    const double[::1] gain,
    const double[::1] low,
    const double[::1] high,
    double[::1] alpha,
    const int32_t[::1] point,
    double[::1] field,
    int64_t up,
    int64_t down,
) noexcept nogil:
    """Move weight from one variable to the other as far as objective and bounds allow."""
    cdef int64_t p
    cdef int32_t own = point[up], other = point[down]
    cdef double curvature = kernel[own, own] + kernel[other, other] - 2.0 * kernel[own, other]
    cdef double length, to_high = high[up] - alpha[up], to_low = alpha[down] - low[down]
    if curvature < FLAT:
        curvature = FLAT
    length = (gain[up] - field[own] - (gain[down] - field[other])) / curvature
    # Set a reached bound exactly, because the next search compares with it.
    if length >= to_high and to_high <= to_low:
        length = to_high
        alpha[up] = high[up]
        alpha[down] -= length
        if to_high == to_low:
            alpha[down] = low[down]
    elif length >= to_low:
        length = to_low
        alpha[up] += length
        alpha[down] = low[down]
    else:
        alpha[up] += length
        alpha[down] -= length
    if own != other:
        for p in range(field.shape[0]):
            field[p] += length * (kernel[own, p] - kernel[other, p])


def optimise(
    const double[:, ::1] kernel,
    const int32_t[::1] point,
    const double[::1] gain,
    const double[::1] low,
    const double[::1] high,
    double[::1] alpha,
    double[::1] field,
    double tolerance,
    int64_t max_steps,
):
    """Maximise gain . alpha - alpha' K alpha / 2 with sum(alpha) = 0 and low <= alpha <= high.

    K[v, w] = kernel[point[v], point[w]]. alpha and field (that is, kernel times the weights of the
    points) are changed in place. Returns the bias, the gap that is left and the number of steps.
    """
    cdef int64_t up, down, n_steps = 0
    cdef double highest, lowest
    _check_shapes(kernel, point, gain, low, high, alpha, field)
    with nogil:
        while True:
            up = _widest_gap(gain, low, high, alpha, point, field, &highest, &lowest)
            if highest - lowest <= tolerance or n_steps >= max_steps:
                break
            down = _best_partner(kernel, gain, low, alpha, point, field, up)
            if down < 0:
                # NaN among the values: no comparison holds.
                break
            _step(kernel, gain, low, high, alpha, point, field, up, down)
            n_steps += 1
    return (highest + lowest) / 2.0, highest - lowest, n_steps


cdef void _check_shapes(
    const double[:, ::1] kernel,
    const int32_t[::1] point,
    const double[::1] gain,
    const double[::1] low,
    const double[::1] high,
    const double[::1] alpha,
    const double[::1] field,
) except *:
    """Check the sizes, because the loops index without checks."""
    cdef int64_t n_points = kernel.shape[0]
    if kernel.shape[1] != n_points or field.shape[0] != n_points:
        raise ValueError("kernel and field must have one row for each point")
    if not (
        point.shape[0] == gain.shape[0] == low.shape[0] == high.shape[0] == alpha.shape[0] > 0
    ):
        raise ValueError("point, gain, low, high and alpha must have one entry for each variable")
    points = np.asarray(point)
    if points.min() < 0 or points.max() >= n_points:
        raise ValueError("point must name rows of the kernel")
