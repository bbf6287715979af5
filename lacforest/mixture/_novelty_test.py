"""A test of whether anything is new, with a stated rate of false alarms.

Out-of-bag scores of all rows depend on each other, so their ranks show "new" rows too often where
nothing is new. Here the rows are divided into two halves, and each half is scored by trees that
were grown on the other one. Given these trees the scores of a half are independent. If nothing is
new, labelled and unlabelled rows of the half are samples of one distribution, and which of them
have the highest scores is a matter of chance whose distribution is known exactly.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.stats import norm

from lacforest._tree.coded_columns import CodedColumns
from lacforest.mixture._forest_scores import half_scores

# Shares of the rows of a half with the highest scores, among which unlabelled rows are counted. Few
# new rows show in the smallest share, many overlapping ones in the largest.
_TOP_SHARES = (0.02, 0.05, 0.1, 0.2, 0.4)
_N_DRAWS = 1_999
# Fewest labelled and unlabelled rows of a half.
_FEWEST = 10


def novelty_p_value(
    columns: CodedColumns, n_labeled: int, seed: int, n_jobs: int | None
) -> float | None:
    """p-value of "no unlabelled row is new"; None where there are too few rows.

    Parameters
    ----------
    columns : CodedColumns
    n_labeled : int
        Rows [0, n_labeled) are labelled, all others unlabelled.
    seed : int
    n_jobs : int or None
    """
    in_second, scores = half_scores(columns, n_labeled, seed, n_jobs)
    is_unlabeled = np.arange(len(scores)) >= n_labeled
    rng = np.random.default_rng(seed)
    p_values = []
    for half in (in_second, ~in_second):
        labeled, unlabeled = scores[half & ~is_unlabeled], scores[half & is_unlabeled]
        if min(len(labeled), len(unlabeled)) < _FEWEST:
            return None
        p_values.append(rank_p_value(labeled, unlabeled, rng))
    return combine(p_values)


def rank_p_value(
    labeled: NDArray[np.float64], unlabeled: NDArray[np.float64], rng: np.random.Generator
) -> float:
    """Exact p-value of exchangeable scores against unlabelled rows among the highest ones.

    The statistic is the largest standardised number of unlabelled rows among the rows with the
    highest scores, over several shares of rows. Its distribution is that of numbers drawn without
    replacement, which depends on no assumption about the scores.
    """
    pooled = np.concatenate([labeled, unlabeled])
    # Equal scores are never separated.
    cuts = np.unique(np.quantile(pooled, 1.0 - np.array(_TOP_SHARES), method="higher"))
    place = np.searchsorted(cuts, pooled, side="right")
    n_cells = len(cuts) + 1
    sizes = np.bincount(place, minlength=n_cells)
    found = np.bincount(place[len(labeled) :], minlength=n_cells)
    drawn = rng.multivariate_hypergeometric(sizes, len(unlabeled), size=_N_DRAWS)
    largest = _largest_excess(np.vstack([found, drawn]), sizes)
    # The sums of different draws may differ by rounding alone.
    return float((largest >= largest[0] - 1e-9).mean())


def _largest_excess(counts: NDArray[np.int64], sizes: NDArray[np.int64]) -> NDArray[np.float64]:
    """Largest standardised number of unlabelled rows above a cut, for each row of counts."""
    n_rows, n_drawn = sizes.sum(), counts[0].sum()
    above = counts[:, ::-1].cumsum(axis=1)[:, :-1]
    n_above = sizes[::-1].cumsum()[:-1]
    share = n_drawn / n_rows
    variance = n_above * share * (1.0 - share) * (n_rows - n_above) / (n_rows - 1)
    excess = np.where(
        variance > 0, (above - n_above * share) / np.sqrt(np.maximum(variance, 1e-300)), 0.0
    )
    largest: NDArray[np.float64] = excess.max(axis=1, initial=0.0)
    return largest


def combine(p_values: list[float]) -> float:
    """One p-value of the halves: that of their mean z-score.

    Each half is scored by trees of the other, so chance patterns that both halves share raise both
    scores: they are treated as fully correlated, which is the worst case of normal z-scores.
    """
    return float(norm.sf(np.mean(norm.isf(p_values))))
