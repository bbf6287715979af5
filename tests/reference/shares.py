"""Shares of known classes in deployment, one row and one small step at a time."""

import math
from fractions import Fraction

from reference.mixture import position_counts

N_BINS = 25
N_POWERS = 8
PRIOR_ROWS = 10
LEAST_ROWS = 5


def augmented_shares(counts, n_unlabeled, ratios):
    """Definition 1 with a ratio r_k per class: shares of the known classes, then of "new".

    An unlabelled row stands for one row, a labelled row of class k for r_k unlabelled known ones.
    """
    known = [Fraction(ratio) * count for count, ratio in zip(counts, ratios, strict=True)]
    new = max(Fraction(0), 1 - sum(known) / n_unlabeled) if n_unlabeled > 0 else Fraction(0)
    total = sum(known)
    return [(1 - new) * part / total if total else Fraction(0) for part in known] + [new]


def novelty(probabilities, ratio):
    known = sum(p * r for p, r in zip(probabilities[:-1], ratio, strict=True))
    return probabilities[-1] / (probabilities[-1] + known + 1e-9)


def group(probabilities, sizes):
    """The fitted class that a row looks like most, rare ones favoured; the first of several."""
    known = [
        p / math.sqrt(n / sum(sizes)) if is_fitted(n, sizes) else -1.0
        for p, n in zip(probabilities, sizes, strict=False)
    ]
    return known.index(max(known))


def is_fitted(size, sizes):
    """Whether the share of a class of so many labelled rows is estimated."""
    return size >= LEAST_ROWS or max(sizes) < LEAST_ROWS


def bin_powers(lowest):
    """Probability of each bin under the densities of new rows."""
    exponents = [lowest * (200 / lowest) ** (i / (N_POWERS - 1)) for i in range(N_POWERS)]
    return [
        [((b + 1) / N_BINS) ** power - (b / N_BINS) ** power for power in exponents]
        for b in range(N_BINS)
    ]


def likelihood(counts, parts, weights):
    fitted = [sum(p * w for p, w in zip(row, weights, strict=True)) for row in parts]
    return sum(n * math.log(f) for n, f in zip(counts, fitted, strict=True) if n > 0)


def maximise(counts, parts, n_steps=4000):
    """Weights of the components by expectation maximisation."""
    weights = [1 / len(parts[0])] * len(parts[0])
    total = sum(counts)
    for _ in range(n_steps):
        fitted = [sum(p * w for p, w in zip(row, weights, strict=True)) for row in parts]
        weights = [
            weight
            * sum(n * row[k] / f for n, row, f in zip(counts, parts, fitted, strict=True) if n > 0)
            / total
            for k, weight in enumerate(weights)
        ]
    return weights


def counts_and_parts(labeled, unlabeled, classes, known, lowest=5.0):
    """Unlabelled rows by (group, bin), and what each component expects there.

    Ten more rows of known class follow, one cell per class: the prior.
    """
    n_known = len(known)
    sizes = [classes.count(k) for k in range(n_known)]
    ratio = [
        max(share, 0.02 / n_known) / (size / len(classes))
        for share, size in zip(known, sizes, strict=True)
    ]
    powers = bin_powers(lowest)
    counts, parts = [], []
    for j in range(n_known):
        here = [i for i, row in enumerate(labeled) if group(row, sizes) == j]
        there = [novelty(row, ratio) for row in unlabeled if group(row, sizes) == j]
        found = [0.0] * (N_BINS - 1) + [float(len(there))]
        if here and there:
            scores = [novelty(labeled[i], ratio) for i in here]
            weights = [ratio[classes[i]] for i in here]
            found = [float(n) for n in position_counts(scores, there, N_BINS, weights)]
        counts += found
        confusion = [
            sum(classes[i] == k for i in here) / sizes[k] if is_fitted(sizes[k], sizes) else 0.0
            for k in range(n_known)
        ]
        for b in range(N_BINS):
            new = [0.0] * (N_POWERS * n_known)
            new[j * N_POWERS : (j + 1) * N_POWERS] = powers[b]
            parts.append([share / N_BINS for share in confusion] + new)
    for k in range(n_known):
        counts.append(PRIOR_ROWS * is_fitted(sizes[k], sizes) * sizes[k] / len(classes))
        parts.append([float(k == i) for i in range(len(parts[0]))])
    return counts, parts


def shift_statistic(known, labeled, variance, n_labeled):
    """Mean squared z-score, or a fifth of the largest one; classes without labelled rows apart."""
    squares = []
    for share, own, of_estimate in zip(known, labeled, variance, strict=True):
        if own > 0:
            total = of_estimate + own * (1 - own) / n_labeled + (0.1 * (own + 0.01)) ** 2
            squares.append((share - own) ** 2 / total)
    if len(squares) < 2:
        return 0.0
    return max(sum(squares) / (len(squares) - 1), max(squares) / 5)
