"""KM1 and KM2 of Ramaswamy, Scott and Tewari (ICML 2016) on one-dimensional scores."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from lacforest.mixture._simplex import Nearest, nearest_in_hull

# Candidate widths in units of the median distance, in descending order.
_WIDTHS = (10.0, 10.0**0.5, 1.0, 10.0**-0.5, 0.1)
# Scores span at most four units, and no quotient of two distances may overflow.
_NARROWEST = 1e-300
# Largest error of the factor, relative to the squared norm of a feature vector.
_CUT = 1e-12
# Widths below all gaps differ only by rounding; the wider one is cheaper.
_TIE = 1e-9
# Largest rank of a factor, and the number of entries up to which a higher rank is allowed.
_MAX_RANK = 500
_MAX_CELLS = 1 << 22
# Tolerance of distances, relative to the distance between the two samples.
_TOLERANCE = 1e-7
# Samples closer than this count as equal, because the error of the factor is as large.
_SAME = math.sqrt(_CUT)
# Tolerance of slopes. If no labelled row looks unlabelled, all slopes equal the threshold.
_SLACK = 1e-5

_LARGEST_LAM = 8.0
_RESOLUTION = 0.04
_FIRST_STEP = 0.05


@dataclass(frozen=True)
class KnownShare:
    """Estimated share of known classes among unlabelled rows, and how it was found.

    Attributes
    ----------
    share : float
        kappa = (lam - 1) / lam, below 7/8.
    lam : float
        Where the slope of the distance exceeds the threshold.
    threshold : float
        nu, the threshold of the slope.
    lams, distances : float arrays
        The computed points of the distance curve, in ascending order of lam.
    """

    share: float
    lam: float
    threshold: float
    lams: NDArray[np.float64]
    distances: NDArray[np.float64]


class KernelMean:
    """Distance of lam F - (lam - 1) H from all distributions, in the space of a Gaussian kernel.

    F is the distribution of unlabelled and H that of labelled scores. The distance is convex in
    lam. It is zero as long as lam F - (lam - 1) H is a distribution.

    Parameters
    ----------
    values : float array
        Distinct scores of both samples, in ascending order.
    labeled, unlabeled : float arrays
        Number of rows of each sample with each of the values. Any non-negative weights that are
        not all zero are accepted.
    width : float, optional
        Standard deviation of the kernel. By default the one of five multiples of the median
        distance between two scores that separates the samples best.

    Attributes
    ----------
    width : float
    mmd : float
        Distance between the two samples.
    """

    def __init__(
        self,
        values: NDArray[np.float64],
        labeled: NDArray[np.float64],
        unlabeled: NDArray[np.float64],
        width: float | None = None,
    ) -> None:
        # Scaling by a power of two avoids overflow and underflow without rounding.
        largest = float(np.abs(values).max())
        unit = 2.0 ** (math.frexp(largest)[1] - 1) if largest > 0 else 1.0
        points = values / unit
        if width is None:
            between = _shares(unlabeled) - _shares(labeled)
            width, factor = _best_width(points, labeled + unlabeled, between)
        else:
            width, factor = _given_width(points, width / unit)
        self.width = width * unit
        self._corners = np.ascontiguousarray(factor.T)
        # The pivots, which are far apart.
        self._pivots = np.unique(np.abs(factor).argmax(axis=1))
        self._set_samples(labeled, unlabeled)

    def _set_samples(self, labeled: NDArray[np.float64], unlabeled: NDArray[np.float64]) -> None:
        self._n_smaller = min(float(labeled.sum()), float(unlabeled.sum()))
        self._labeled, self._unlabeled = _shares(labeled), _shares(unlabeled)
        self._mean_labeled = self._labeled @ self._corners
        self._mean_unlabeled = self._unlabeled @ self._corners
        self.mmd = math.dist(self._mean_unlabeled, self._mean_labeled)
        self._solved: dict[float, Nearest] = {}

    def resampled(self, labeled: NDArray[np.float64], unlabeled: NDArray[np.float64]) -> KernelMean:
        """The same kernel with other samples of the same values."""
        other = object.__new__(KernelMean)
        other.width, other._corners, other._pivots = self.width, self._corners, self._pivots
        other._set_samples(labeled, unlabeled)
        return other

    def distance(self, lam: float) -> float:
        """Distance of lam F - (lam - 1) H from the nearest distribution on the values."""
        measure = lam * self._unlabeled + (1 - lam) * self._labeled
        if self.mmd <= _SAME or (measure >= 0).all():
            return 0.0
        if lam not in self._solved:
            self._solved[lam] = self._solve(lam)
        return self._solved[lam].distance

    def _solve(self, lam: float) -> Nearest:
        start = self._pivots
        if self._solved:
            start = self._solved[min(self._solved, key=lambda other: abs(other - lam))].support
        mean = lam * self._mean_unlabeled + (1 - lam) * self._mean_labeled
        return nearest_in_hull(self._corners, mean, start, _TOLERANCE * self.mmd)

    def known_share(self, variant: Literal["km1", "km2"], mixing: float = 0.25) -> KnownShare:
        """Find the lam at which the slope of the distance exceeds the threshold, by bisection.

        Parameters
        ----------
        variant : {"km1", "km2"}
            The threshold of "km2" lies between the first slope and the last; that of "km1" is the
            slope that sampling alone can produce, 1 / sqrt(n), unless it is close to the last one.
        mixing : float
            Weight of the last slope, which is `mmd`, in the threshold of "km2": 0.2 in the original
            paper, 0.25 in the code of EULAC and LACForest.
        """
        curve: dict[float, float] = {}

        def slope(lam: float, step: float) -> float:
            for place in (lam, lam + step):
                curve[place] = self.distance(place)
            return (curve[lam + step] - curve[lam]) / step

        threshold = 1 / math.sqrt(self._n_smaller)
        if variant == "km2" or threshold > 0.9 * self.mmd:
            threshold = (1 - mixing) * slope(1.0, _FIRST_STEP) + mixing * self.mmd
        left, right = 1.0, _LARGEST_LAM
        while right - left > _RESOLUTION:
            middle = (left + right) / 2
            if slope(middle, _RESOLUTION / 2) > (1 - _SLACK) * threshold:
                right = middle
            else:
                left = middle
        lam = (left + right) / 2
        lams = np.array(sorted(curve))
        distances = np.array([curve[place] for place in lams.tolist()])
        return KnownShare((lam - 1) / lam, lam, threshold, lams, distances)


def _shares(counts: NDArray[np.float64]) -> NDArray[np.float64]:
    shares: NDArray[np.float64] = counts / counts.sum()
    return shares


def _given_width(points: NDArray[np.float64], width: float) -> tuple[float, NDArray[np.float64]]:
    factor = _factorise(points, max(width, _NARROWEST))
    if factor is None:
        raise ValueError(
            f"the kernel is too narrow for {len(points)} distinct scores: more than "
            f"{_rank_limit(points)} of them are far apart compared with its width"
        )
    return width, factor


def _best_width(
    points: NDArray[np.float64], weights: NDArray[np.float64], between: NDArray[np.float64]
) -> tuple[float, NDArray[np.float64]]:
    """The width at which the samples differ most, and the factor of its kernel.

    Scores with far outliers need a high rank, especially with a narrow kernel. Widths that need too
    high a rank are left out; if all do, a wider one is used.
    """
    scale = max(_median_distance(points, weights), _NARROWEST)
    widths = [scale * multiple for multiple in _WIDTHS]
    best, best_mmd = None, -math.inf
    while best is None:
        for width in widths:
            factor = _factorise(points, width)
            if factor is None:
                break
            mmd = float(np.linalg.norm(factor @ between))
            if mmd > (1 + _TIE) * best_mmd:
                best, best_mmd = (width, factor), mmd
        widths = [widths[0] * _WIDTHS[1]]
    return best


def _rank_limit(points: NDArray[np.float64]) -> int:
    return max(_MAX_RANK, _MAX_CELLS // len(points))


def _factorise(points: NDArray[np.float64], width: float) -> NDArray[np.float64] | None:
    """Matrix A with A' A = K, by pivoted Cholesky factorisation; None if it needs too many rows.

    One-dimensional scores need few rows: about 20 if the width is the median distance, and 130 at a
    tenth of it.
    """
    limit = _rank_limit(points)
    rows = np.empty((32, len(points)))
    missing = np.ones(len(points))  # residual of the squared norms, which are one
    rank = 0
    while missing.max() > _CUT:
        if rank == limit:
            return None
        if rank == len(rows):
            rows = np.concatenate([rows, np.empty_like(rows)])
        pivot = int(missing.argmax())
        # Beyond 40 widths the kernel underflows to zero, and squares might overflow.
        away = np.minimum(np.abs(points - points[pivot]) / width, 40.0)
        row = np.exp(-0.5 * away * away)
        row -= rows[:rank, pivot] @ rows[:rank]
        row /= math.sqrt(missing[pivot])
        missing -= row * row
        rows[rank] = row
        rank += 1
    return rows[:rank]


def _median_distance(points: NDArray[np.float64], weights: NDArray[np.float64]) -> float:
    """Root of the median squared distance over ordered pairs of rows, each row with itself too.

    If more than half of the pairs have equal scores, the median of the others is used, and one if
    there are no others. Distances from point i to the points on its right increase, so the
    candidates are a span per point: memory for a few numbers per point instead of one per pair.
    """
    points, weights = points[weights > 0], weights[weights > 0]
    n_points = len(points)
    if n_points == 1:
        return 1.0
    equal, total = weights @ weights, weights.sum() ** 2
    half = (equal + total) / 2 if equal > total / 2 else total / 2
    sums = np.concatenate([[0.0], np.cumsum(weights)])

    def weight_up_to(ends: NDArray[np.intp]) -> float:
        return float(equal + 2 * (weights @ (sums[ends] - sums[1:])))

    # The remaining spans; the median is found when the pairs before `starts` have half the weight.
    starts, ends = np.arange(1, n_points + 1), np.full(n_points, n_points)
    distance = 0.0
    while weight_up_to(starts) < half and (starts < ends).any():
        middle = _middle_of_spans(points, starts, ends)
        closer = _cut_spans(points, starts, ends, np.less, middle)
        if weight_up_to(closer) >= half:
            ends = closer
        else:
            starts = _cut_spans(points, closer, ends, np.less_equal, middle)
            distance = middle
    beyond = starts < n_points
    if weight_up_to(starts) == half and beyond.any():
        # The median of an even number of squares is the mean of the two in the middle.
        following = float((points[starts[beyond]] - points[beyond]).min())
        return math.hypot(distance, following) / math.sqrt(2)
    return distance


def _middle_of_spans(
    points: NDArray[np.float64], starts: NDArray[np.intp], ends: NDArray[np.intp]
) -> float:
    """Median of the distances in the middle of the spans, weighted by their length."""
    left = np.flatnonzero(starts < ends)
    lengths = (ends - starts)[left]
    distances = points[starts[left] + lengths // 2] - points[left]
    order = np.argsort(distances)
    lengths_up_to = np.cumsum(lengths[order])
    return float(distances[order[np.searchsorted(lengths_up_to, lengths_up_to[-1] / 2)]])


def _cut_spans(
    points: NDArray[np.float64],
    starts: NDArray[np.intp],
    ends: NDArray[np.intp],
    compare: Callable[..., NDArray[np.bool_]],
    distance: float,
) -> NDArray[np.intp]:
    """For each span, the end of the distances that satisfy the comparison, by bisection.

    The same rounded differences are compared everywhere: point + distance would be rounded
    differently.
    """
    starts, ends = starts.copy(), ends.copy()
    while len(left := np.flatnonzero(starts < ends)) > 0:
        middle = (starts[left] + ends[left]) // 2
        inside = compare(points[middle] - points[left], distance)
        starts[left[inside]] = middle[inside] + 1
        ends[left[~inside]] = middle[~inside]
    return starts
