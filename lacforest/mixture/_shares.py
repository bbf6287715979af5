"""Theta and the shares of all known classes at once, from class probabilities of rows.

Rows fall into groups by the known class that they look like most. Probabilities are divided by the
square root of the labelled share first: a class with few labelled rows would otherwise have no
group. Within a group j, an unlabelled row of known class k is as likely to be there as a labelled
row of that class, M[j, k], and its position among the labelled rows of the group is uniform; a new
row falls near 1 in whatever group. So the unlabelled rows of group j have the density

    f_j(x) = sum_k w_k M[j, k] + sum_m c_jm m x^(m - 1)        over positions x in (0, 1),

with w_k the share of class k among all unlabelled rows. The likelihood is concave in (w, c), and
theta is 1 - sum_k w_k. Positions are those among labelled rows *weighted to the shares w*, so the
fit is repeated a few times.

Where two classes fall into the same groups, the likelihood cannot tell their shares apart. A few
rows of known class with the labelled shares are therefore counted beside the unlabelled ones (a
Dirichlet prior): they decide where the data do not.

A class with hardly any labelled rows keeps its labelled share: positions among three rows cannot
tell rows of the class from new ones, and the class would take the share of those.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

import numpy as np
from numpy.typing import NDArray
from scipy import sparse

from lacforest._input.parameters import share_ratio
from lacforest._utils.products import product
from lacforest.mixture._beta_mixture import MOST_PARTS, Parts, mixture_weights, position_counts
from lacforest.mixture._score_table import ScoreTable

N_BINS = 25
LOWEST_POWER = 5.0
_HIGHEST_POWER = 200.0
_N_POWERS = 8
N_ROUNDS = 3
# Labelled rows from which on the share of a class is estimated.
LEAST_ROWS = 5.0
# A class keeps this part of an equal share while positions are found: weights of zero would remove
# its rows, and the class could never come back.
LEAST_PART = 0.02
# Rows with labelled shares that are counted beside the unlabelled ones. With 3 to 30 of them, the
# error under a shift is about the same; with none, classes that look alike may swap their shares.
PRIOR_ROWS = 10.0
# Error of an estimated share that more rows do not remove: a tenth of the share, and a thousandth.
_BIAS = 0.1
_SMALL_SHARE = 0.01
# Part of the squared z-score of the class that has moved most.
_ONE_CLASS = 5.0
# Rows of an information matrix from which on LAPACK inverts it faster.
_MANY_COMPONENTS = 150
# Part of its diagonal entry below which a component tells nothing that those before it do not.
_LEAST_PIVOT = 1e-10
# Most classes whose information is inverted in every fit, which takes cubic time.
_MOST_INVERTED = 300


@dataclass(frozen=True)
class ClassScores:
    """Class probabilities of rows, by trees that did not see them.

    Attributes
    ----------
    labeled : float64 array of shape (n_labeled, n_known + 1)
        Last column: how much a row looks like the unlabelled ones.
    unlabeled : float64 array of shape (n_unlabeled, n_known + 1)
    classes : int array of shape (n_labeled,)
        Class codes of the labelled rows.
    weight : float64 array of shape (n_labeled,)
        How many rows each labelled row stands for.
    """

    labeled: NDArray[np.float64]
    unlabeled: NDArray[np.float64]
    classes: NDArray[np.intp]
    weight: NDArray[np.float64]

    @property
    def n_known(self) -> int:
        """Known classes."""
        return int(self.labeled.shape[1]) - 1

    @property
    def class_totals(self) -> NDArray[np.float64]:
        """Labelled rows per class, by weight."""
        totals = np.bincount(self.classes, self.weight, self.n_known)
        return totals.astype(np.float64)

    @property
    def class_sizes(self) -> NDArray[np.float64]:
        """Equally weighted rows per class that say as much as the labelled ones (Kish)."""
        squares = np.bincount(self.classes, self.weight**2, self.n_known)
        sizes: NDArray[np.float64] = self.class_totals**2 / np.maximum(squares, 1e-300)
        return sizes

    @property
    def labeled_shares(self) -> NDArray[np.float64]:
        """Shares of the known classes among labelled rows."""
        totals = self.class_totals
        shares: NDArray[np.float64] = totals / totals.sum()
        return shares


def novelty(probabilities: NDArray[np.float64], ratio: NDArray[np.float64]) -> NDArray[np.float64]:
    """How unlabelled a row looks where labelled rows of class k weigh ratio[k]."""
    unlabeled = probabilities[:, -1]
    known = product(probabilities[:, :-1], ratio)
    score: NDArray[np.float64] = unlabeled / (unlabeled + known + 1e-9)
    return score


@cache
def _powers(lowest: float) -> NDArray[np.float64]:
    """Probability of each bin under the densities of new rows."""
    edges = np.linspace(0.0, 1.0, N_BINS + 1)
    exponents = np.geomspace(lowest, _HIGHEST_POWER, _N_POWERS)
    bins: NDArray[np.float64] = np.diff(edges[:, None] ** exponents, axis=0)
    bins.flags.writeable = False
    return bins


def _parts(confusion: NDArray[np.float64], lowest: float) -> Parts:
    """Probability of each (group, bin): one column per known class, then the new ones.

    The last rows are those of the prior, one per known class. With many classes nearly all entries
    are zero, and the matrix is sparse.
    """
    n_known, powers = len(confusion), _powers(lowest)
    known = np.repeat(confusion, N_BINS, axis=0) / N_BINS
    if n_known * (1 + _N_POWERS) <= MOST_PARTS:
        new = np.kron(np.eye(n_known), powers)
        return np.vstack([np.hstack([known, new]), np.eye(n_known, n_known + new.shape[1])])
    blocks = [
        [sparse.csr_array(known), sparse.kron(sparse.eye_array(n_known), powers)],
        [sparse.eye_array(n_known), None],
    ]
    return sparse.block_array(blocks, format="csr")


@dataclass(frozen=True)
class ShareFit:
    """Fitted mixture of known classes and new rows.

    Attributes
    ----------
    counts : float64 array of shape (n_cells + n_known,)
        Unlabelled rows by group and bin, then the rows of the prior by class.
    parts : array of shape (n_cells + n_known, n_components)
    weights : float64 array of shape (n_components,)
        Of the fitted classes, then of the new densities.
    is_fitted : bool array of shape (n_known,)
        Which classes have enough labelled rows.
    kept_shares : float64 array of shape (n_known,)
        Shares among known rows of the classes that are not fitted, 0 for the others.
    told_apart : float
        Sum over classes of the share of their labelled rows that are in their own group: 1 by
        chance, the number of classes at best.
    """

    counts: NDArray[np.float64]
    parts: Parts
    weights: NDArray[np.float64]
    is_fitted: NDArray[np.bool_]
    kept_shares: NDArray[np.float64]
    told_apart: float

    @property
    def shares(self) -> NDArray[np.float64]:
        """Shares of the fitted classes among unlabelled rows; they sum to 1 - theta."""
        shares = np.zeros(len(self.is_fitted))
        shares[self.is_fitted] = self.weights[: self.is_fitted.sum()]
        return shares

    @property
    def known_shares(self) -> NDArray[np.float64]:
        """Shares of the known classes among known rows; they sum to 1."""
        shares = self.shares
        normalised: NDArray[np.float64] = shares / max(shares.sum(), 1e-300)
        return self.kept_shares + self.moving_part * normalised

    @property
    def distinction(self) -> float | None:
        """How well trees tell the fitted classes apart: 0 by chance, 1 at best; None for one."""
        n_fitted = int(self.is_fitted.sum())
        return (self.told_apart - 1.0) / (n_fitted - 1.0) if n_fitted > 1 else None

    @property
    def moving_part(self) -> float:
        """Share of all fitted classes among known rows."""
        return 1.0 - float(self.kept_shares.sum())


def fit_shares(
    scores: ClassScores,
    *,
    start: NDArray[np.float64] | None = None,
    n_rounds: int = N_ROUNDS,
    lowest: float = LOWEST_POWER,
) -> ShareFit:
    """Shares of the known classes and of new rows among unlabelled ones.

    Parameters
    ----------
    scores : ClassScores
    start : float64 array of shape (n_known,), optional
        Shares among known rows that the first positions are found by; those of labelled rows if
        not given.
    n_rounds : int
    lowest : float
        Lowest power in the density of new rows.
    """
    n_known, classes = scores.n_known, scores.classes
    totals, labeled_shares = scores.class_totals, scores.labeled_shares
    is_fitted = scores.class_sizes >= LEAST_ROWS
    if not is_fitted.any():
        is_fitted = totals > 0
    lift = 1.0 / np.sqrt(np.where(is_fitted, labeled_shares, 1.0))
    group, unlabeled_group = (
        _most_alike(side, is_fitted, lift) for side in (scores.labeled, scores.unlabeled)
    )
    confusion = np.zeros((n_known, n_known))
    np.add.at(confusion, (group, classes), scores.weight / totals[classes])
    told_apart = float(confusion.trace())
    parts = _parts(confusion, lowest)
    parts = parts[:, np.append(is_fitted, np.ones(parts.shape[1] - n_known, dtype=bool))]
    kept_shares = np.where(is_fitted, 0.0, labeled_shares)
    known = labeled_shares if start is None else start
    weights: NDArray[np.float64] | None = None
    for _ in range(n_rounds):
        ratio = share_ratio(known, labeled_shares, LEAST_PART)
        row_weight = scores.weight * ratio[classes]
        labeled, unlabeled = novelty(scores.labeled, ratio), novelty(scores.unlabeled, ratio)
        counts = np.zeros((n_known, N_BINS))
        for j in range(n_known):
            here, there = group == j, unlabeled_group == j
            if not here.any():
                counts[j, -1] = there.sum()
            elif there.any():
                table = ScoreTable.of(labeled[here], unlabeled[there], row_weight[here])
                counts[j] = position_counts(table, N_BINS)
        counted = np.append(counts.ravel(), PRIOR_ROWS * (labeled_shares - kept_shares))
        weights = mixture_weights(counted, parts, weights)
        fit = ShareFit(counted, parts, weights, is_fitted, kept_shares, told_apart)
        known = fit.known_shares
    return fit


def _most_alike(
    shares: NDArray[np.float64], is_fitted: NDArray[np.bool_], lift: NDArray[np.float64]
) -> NDArray[np.intp]:
    """The fitted class of each row with the largest lifted share, the first of equal ones.

    One class at a time: a table of all products would take as much memory as the shares, and numpy
    2.4 crashes where it has no memory for its buffers in such a product.
    """
    most = np.full(len(shares), -1.0)
    classes = np.zeros(len(shares), dtype=np.intp)
    for k in np.flatnonzero(is_fitted):
        lifted = shares[:, k] * lift[k]
        is_more = lifted > most
        classes[is_more] = k
        most[is_more] = lifted[is_more]
    return classes


def share_covariance(fit: ShareFit, n_by_class: NDArray[np.float64]) -> NDArray[np.float64]:
    """Covariance of `ShareFit.known_shares`, by the information of the fitted mixture.

    Counts N of cells with components A and probabilities f = A w have the information
    H = n A^T diag(1/f) A + (that of the prior), so that the covariance of w is H^-1 within the
    weights that sum to one. Labelled rows of class k are a sample of column k of A; its deviation d
    moves w by -w_k H^-1 n A^T diag(1/f) d.

    Parameters
    ----------
    fit : ShareFit
    n_by_class : float64 array of shape (n_known,)
        Labelled rows per class, by information.
    """
    n_known, n_fitted = len(fit.is_fitted), int(fit.is_fitted.sum())
    # Densities of new rows without weight do not move.
    is_free = fit.weights > 1e-9
    is_free[:n_fitted] = True
    parts = fit.parts[:-n_known, is_free]
    columns = parts.toarray() if sparse.issparse(parts) else parts
    weights = fit.weights[is_free]
    expected = product(columns, weights)
    seen = expected > 1e-12
    columns = columns[seen]
    n_unlabeled = fit.counts[:-n_known].sum()
    scaled = columns * (n_unlabeled / expected[seen])[:, None]
    information = product(columns.T, scaled)
    shares = np.maximum(weights[:n_fitted], 1e-9)
    known = np.arange(n_fitted)
    information[known, known] += fit.counts[-n_known:][fit.is_fitted] / shares**2
    inverse = invert(information)
    inverse -= np.outer(inverse.sum(axis=0), inverse.sum(axis=0)) / inverse.sum()
    influence = product(inverse[:n_fitted], scaled.T)
    noise = shares**2 / n_by_class[fit.is_fitted]
    means = product(influence, columns[:, :n_fitted])
    of_labeled = product(influence * product(columns[:, :n_fitted], noise), influence.T)
    of_labeled -= product(means * noise, means.T)
    to_known = (np.eye(n_fitted) - (shares / shares.sum())[:, None]) / shares.sum()
    to_known *= fit.moving_part
    moved = product(to_known, inverse[:n_fitted, :n_fitted] + of_labeled)
    covariance = product(moved, to_known.T)
    found = np.zeros((n_known, n_known))
    found[np.ix_(fit.is_fitted, fit.is_fitted)] = covariance
    return found


def invert(information: NDArray[np.float64]) -> NDArray[np.float64]:
    """Inverse of a symmetric, positive semi-definite matrix.

    Small ones by sweeping one row after the other, without LAPACK: its threads would wait for more
    work in a busy loop while the trees of a fit need the cores.
    """
    if len(information) > _MANY_COMPONENTS:
        return np.linalg.pinv(information, hermitian=True).astype(np.float64)
    scale = 1.0 / np.sqrt(np.maximum(information.diagonal(), 1e-300))
    scales = np.multiply.outer(scale, scale)
    swept = information * scales
    for k in range(len(swept)):
        pivot = swept[k, k]
        if pivot < _LEAST_PIVOT:
            swept[k] = swept[:, k] = 0.0
            continue
        row = swept[k] / pivot
        swept -= np.multiply.outer(swept[:, k], row)
        swept[k], swept[:, k] = row, row
        swept[k, k] = -1.0 / pivot
    return -swept * scales


def share_variance(
    fit: ShareFit, labeled: NDArray[np.float64], n_by_class: NDArray[np.float64]
) -> NDArray[np.float64]:
    """Variance of each of `ShareFit.known_shares` if classes have the shares of labelled rows.

    At the fitted shares, a class with few labelled rows that is frequent in deployment would have
    a large variance, and nobody would see that it has moved. With very many classes the variance is
    that of rows which all tell their class, the least that it can be.

    Parameters
    ----------
    fit : ShareFit
    labeled : float64 array of shape (n_known,)
        Shares of the known classes among labelled rows.
    n_by_class : float64 array of shape (n_known,)
        As in `share_covariance`.
    """
    n_known, n_fitted = len(fit.is_fitted), int(fit.is_fitted.sum())
    share_of_known = fit.weights[:n_fitted].sum()
    if n_known > _MOST_INVERTED:
        n_known_rows = fit.counts[:-n_known].sum() * share_of_known
        least: NDArray[np.float64] = labeled / max(n_known_rows, 1.0)
        return least
    own = labeled[fit.is_fitted] / fit.moving_part
    unmoved = np.append(own * share_of_known, fit.weights[n_fitted:])
    covariance = share_covariance(replace(fit, weights=unmoved), n_by_class)
    return np.maximum(covariance.diagonal(), 0.0)


def shift_statistic(
    known: NDArray[np.float64],
    labeled: NDArray[np.float64],
    variance: NDArray[np.float64],
    n_labeled: int,
) -> float:
    """Squared z-scores of shares in deployment against those of labelled rows, on average.

    The variance of a difference is that of the estimated share, which is large for a class that
    looks like another one, that of a multinomial sample of labelled rows, and that of an estimate
    which is off by about a tenth of the share whatever the number of rows. One class alone that has
    moved far counts as much as five classes that have moved.

    Parameters
    ----------
    known, labeled : float64 array of shape (n_known,)
        Shares in deployment and among labelled rows.
    variance : float64 array of shape (n_known,)
        Of `known`, see `share_variance`.
    n_labeled : int
    """
    some = labeled > 0
    if some.sum() < 2:
        return 0.0
    own = labeled[some]
    total = variance[some] + own * (1.0 - own) / n_labeled + (_BIAS * (own + _SMALL_SHARE)) ** 2
    squares = (known[some] - own) ** 2 / total
    return float(max(squares.sum() / (some.sum() - 1), squares.max() / _ONE_CLASS))
