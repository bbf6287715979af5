"""Theta from two lists of scores, one row, threshold and small step at a time."""

import math
from fractions import Fraction

import numpy as np


def effective_size(weights):
    """Effective sample size: the equivalent number of rows of equal weight (Kish)."""
    weights = [Fraction(weight) for weight in weights]
    return max(1, round(sum(weights) ** 2 / sum(weight * weight for weight in weights)))


# ---------------------------------------------------------------------------- ratio curve


def share_up_to(scores, threshold, weights=None):
    weights = [1] * len(scores) if weights is None else weights
    up_to = [weight for score, weight in zip(scores, weights, strict=True) if score <= threshold]
    return sum(up_to) / sum(weights)


def ratio_curve(labeled, unlabeled, weights=None):
    """(share of labelled rows, share of unlabelled rows over it) at every score, ascending."""
    points = []
    for threshold in sorted({*labeled, *unlabeled}):
        known = share_up_to(labeled, threshold, weights)
        if known > 0:
            points.append((known, share_up_to(unlabeled, threshold) / known))
    return points


def upper_bound(point, n_labeled, n_unlabeled, delta=0.1, gamma=0.01):
    """Confidence bound of the ratio at a point of the curve (Garg et al., 2021)."""
    known, ratio = point
    noise = math.sqrt(math.log(4 / delta) / (2 * n_unlabeled))
    noise += math.sqrt(math.log(4 / delta) / (2 * n_labeled))
    return ratio + (1 + gamma) / known * noise


def best_bin(labeled, unlabeled, weights=None):
    """The point of the ratio curve with the lowest bound."""
    n_labeled = len(labeled) if weights is None else effective_size(weights)
    best, lowest = None, math.inf
    for point in ratio_curve(labeled, unlabeled, weights):
        bound = upper_bound(point, n_labeled, len(unlabeled))
        if bound < lowest:
            best, lowest = point, bound
    return best


# ---------------------------------------------------------------------------- positions


def position(score, labeled, weights=None):
    """The position of a score among the labelled ones, as an interval within [0, 1].

    n rows divide the line into n + 1 gaps, equally likely for one more row of the same kind: n + 1
    steps of equal length. A score lies in one gap, or anywhere next to the rows that it ties with.
    """
    weights = [1] * len(labeled) if weights is None else weights
    weights = [Fraction(weight) for weight in weights]
    below = sum(weight for row, weight in zip(labeled, weights, strict=True) if row < score)
    tied = sum(weight for row, weight in zip(labeled, weights, strict=True) if row == score)
    gap = sum(weights) / effective_size(weights)
    whole = sum(weights) + gap
    return Fraction(below) / whole, (below + tied + gap) / whole


def position_counts(labeled, unlabeled, n_bins, weights=None):
    """Unlabelled rows by position, each spread evenly over its interval."""
    counts = [Fraction(0)] * n_bins
    for score in unlabeled:
        first, last = position(score, labeled, weights)
        for i in range(n_bins):
            overlap = min(last, Fraction(i + 1, n_bins)) - max(first, Fraction(i, n_bins))
            counts[i] += max(overlap, 0) / (last - first)
    return counts


# ---------------------------------------------------------------------------- mixture


def log_likelihood(counts, parts, weights):
    """Of rows counted by bin, where component k has the probabilities parts[:, k]."""
    seen = counts > 0
    return float(counts[seen] @ np.log(parts[seen] @ weights))


def expectation_maximisation(counts, parts, n_steps):
    """Weights after many small steps that never decrease the likelihood."""
    seen = counts > 0
    counts, parts = counts[seen], parts[seen]
    weights = np.full(parts.shape[1], 1 / parts.shape[1])
    for _ in range(n_steps):
        weights = weights * (parts.T @ (counts / (parts @ weights))) / counts.sum()
    return weights


def largest_gain(counts, parts, weights):
    """Upper bound of the gain in log-likelihood per row by other weights, from concavity."""
    seen = counts > 0
    gradient = parts[seen].T @ (counts[seen] / (parts[seen] @ weights)) / counts.sum()
    return float(gradient.max() - 1)
