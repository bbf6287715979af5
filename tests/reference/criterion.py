"""Definition 1 of the paper and Gini impurity, from the counts of a node.

Only sums, products and quotients are used, so Fractions give exact results.
"""

from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True)
class Totals:
    """theta, n_l and n_u: the quantities of Definition 1 that do not depend on the node."""

    theta: Any
    n_labeled: Any
    n_unlabeled: Any


def vartheta_new(counts, n_unlabeled, totals):
    """vartheta_{C,k+1}: the estimated share of the augmented class in a node."""
    n_u, n_l = totals.n_unlabeled, totals.n_labeled
    indicator = 1 if n_unlabeled > 0 else 0
    known = (1 - totals.theta) * n_u * sum(counts) / (n_l * max(1, n_unlabeled))
    return indicator * max(0, 1 - known)


def vartheta_known(counts, n_unlabeled, totals):
    """vartheta_{C,k} for k = 1..kappa."""
    new = vartheta_new(counts, n_unlabeled, totals)
    return [(1 - new) * count / max(1, sum(counts)) for count in counts]


def augmented_gini(counts, n_unlabeled, totals):
    """G_C (Eqn 2)."""
    new = vartheta_new(counts, n_unlabeled, totals)
    known = vartheta_known(counts, n_unlabeled, totals)
    return 1 - new * new - sum(share * share for share in known)


def augmented_reduction(left, left_unlabeled, right, right_unlabeled, totals):
    """R_C of a cut: children are weighted by their shares of the unlabelled rows."""
    node = [a + b for a, b in zip(left, right, strict=True)]
    n_unlabeled = left_unlabeled + right_unlabeled
    return (
        augmented_gini(node, n_unlabeled, totals)
        - left_unlabeled * augmented_gini(left, left_unlabeled, totals) / n_unlabeled
        - right_unlabeled * augmented_gini(right, right_unlabeled, totals) / n_unlabeled
    )


def gini(counts):
    """1 - sum_k p_k^2; a node without rows is pure."""
    total = sum(counts)
    if total == 0:
        return 0
    return 1 - sum(count * count for count in counts) / (total * total)


def gini_reduction(left, right):
    """Decrease of Gini impurity by a cut: children are weighted by their shares of the rows."""
    n_left, n_right = sum(left), sum(right)
    node = [a + b for a, b in zip(left, right, strict=True)]
    n_rows = n_left + n_right
    return gini(node) - n_left * gini(left) / n_rows - n_right * gini(right) / n_rows
