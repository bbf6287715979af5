"""The best cut of a node by exhaustive search (Eqns 4 to 6)."""

import math
from dataclasses import dataclass, field, replace
from itertools import pairwise

from reference.categories import cuts_of_categories, random_cut_of_categories
from reference.criterion import Totals, augmented_reduction, gini_reduction

# A cut replaces the best one so far only if its reduction is larger by more than this.
TIE = 1e-12
# Products of floats such as gamma * n differ from the intended integer by rounding errors.
HAIR = 1e-12


@dataclass(frozen=True)
class Rows:
    """Labelled rows, then unlabelled ones."""

    values: list  # one list of floats per row; NaN is missing
    classes: list  # codes 0..n_known-1; n_known = unlabelled, later pseudo-labelled
    weights: list
    n_known: int
    n_categories: dict = field(default_factory=dict)  # by feature, where values are categories

    def counts(self, members):
        """Rows of each class by weight, the unlabelled ones last."""
        counts = [0] * (self.n_known + 1)
        for row in members:
            counts[self.classes[row]] += self.weights[row]
        return counts


@dataclass(frozen=True)
class Cut:
    feature: int
    threshold: float
    missing_left: bool

    def goes_left(self, values):
        value = values[self.feature]
        return self.missing_left if math.isnan(value) else value <= self.threshold

    def part(self, rows, members):
        left = [row for row in members if self.goes_left(rows.values[row])]
        right = [row for row in members if not self.goes_left(rows.values[row])]
        return left, right


@dataclass(frozen=True)
class AugmentedRule:
    """The objective of Step I, and its constraints."""

    totals: Totals
    gamma: float
    min_leaf: int = 1

    @property
    def known_mass(self):
        """Unlabelled rows that a labelled row stands for."""
        totals = self.totals
        return (1 - totals.theta) * totals.n_unlabeled / totals.n_labeled

    def worth_searching(self, counts):
        # Without unlabelled rows R_C is undefined; without labelled rows no cut changes it.
        return sum(counts[:-1]) > 0 and counts[-1] > 0 and sum(counts) >= 2 * self.min_leaf

    def feasible(self, left, right):
        totals = self.totals
        return (
            min(sum(left[:-1]), sum(right[:-1])) >= _at_least(self.gamma * totals.n_labeled)
            and min(left[-1], right[-1]) >= _at_least(self.gamma * totals.n_unlabeled)
            and min(sum(left), sum(right)) >= self.min_leaf
        )

    def reduction(self, left, right):
        return augmented_reduction(left[:-1], left[-1], right[:-1], right[-1], self.totals)


class GiniRule:
    """The objective of Step II; every cut between two values is feasible."""

    known_mass = 1.0

    def worth_searching(self, counts):
        return sum(count > 0 for count in counts) > 1

    def feasible(self, left, right):
        return True

    def reduction(self, left, right):
        return gini_reduction(left, right)


def _at_least(bound):
    """Ceiling with tolerance: 0.07 * 100 is 7.000000000000001 but requires only 7 rows."""
    return bound * (1 - HAIR)


def midway(low, high):
    """The middle of two floats as a float that lies below the upper one."""
    middle = low + 0.5 * (high - low)
    if math.isinf(high - low):
        middle = 0.5 * low + 0.5 * high
    return middle if low <= middle < high else low


def cuts_of_feature(rows, members, feature, rule):
    """Candidates in the order of preference in ties."""
    if feature in rows.n_categories:
        yield from cuts_of_categories(rows, members, feature, rule.known_mass)
        return
    column = [rows.values[row][feature] for row in members]
    present = sorted({value for value in column if not math.isnan(value)})
    some_missing = any(math.isnan(value) for value in column)
    between = [midway(low, high) for low, high in pairwise(present)]
    for threshold in between:
        yield Cut(feature, threshold, missing_left=False)
    if some_missing and present:
        yield Cut(feature, math.inf, missing_left=False)
        for threshold in between:
            yield Cut(feature, threshold, missing_left=True)


def random_cut_of_feature(rows, members, feature, rule, word):
    """One cut, at a share word / 2**64 of the way from the smallest to the largest value.

    Missing values are tried on both sides; if there is only one distinct value, they go right.
    """
    if feature in rows.n_categories:
        yield from random_cut_of_categories(rows, members, feature, rule.known_mass, word)
        return
    column = [rows.values[row][feature] for row in members]
    present = [value for value in column if not math.isnan(value)]
    some_missing = len(present) < len(column)
    if not present:
        return
    low, high = min(present), max(present)
    if low == high:
        if some_missing:
            yield Cut(feature, math.inf, missing_left=False)
        return
    share = (word >> 11) / 2**53
    threshold = low + share * (high - low)
    if math.isinf(high - low):
        threshold = (1 - share) * low + share * high
    if not low <= threshold < high:
        threshold = low
    threshold = with_few_bits(threshold, [values[feature] for values in rows.values])
    yield Cut(feature, threshold, missing_left=False)
    if some_missing:
        yield Cut(feature, threshold, missing_left=True)


def with_few_bits(threshold, column):
    """The multiple of a power of two next to it, between the same values of the table.

    That power is a sixteenth of the distance of these values, or up to twice as small.
    """
    low = max(value for value in column if value <= threshold)
    high = min(value for value in column if value > threshold)
    if math.isinf(high - low):
        return threshold
    step = math.ldexp(0.5, math.frexp(high - low)[1] - 4)  # high - low is in [16, 32) of it
    if step == 0:
        return threshold
    found = round(threshold / step) * step
    if not low <= found < high:
        found += step if found < low else -step
    return found if low <= found < high else threshold


def best_cut(rows, members, rule, drawn_features, max_features, search_on, cuts=cuts_of_feature):
    """The feasible cut of highest reduction over the drawn features, or None.

    With search_on, drawing continues beyond max_features until a feature has a feasible cut.
    """
    best, best_reduction = None, -math.inf
    n_drawn = 0
    # Draw lazily: every drawn feature consumes one word of the tree's stream.
    while n_drawn < max_features or (search_on and best is None):
        feature = next(drawn_features, None)
        if feature is None:
            break
        n_drawn += 1
        for cut in cuts(rows, members, feature, rule):
            left, right = (rows.counts(side) for side in cut.part(rows, members))
            if not rule.feasible(left, right):
                continue
            reduction = rule.reduction(left, right)
            if reduction > best_reduction + TIE:
                best, best_reduction = cut, reduction
    return None if best is None else _with_missing_side(best, rows, members)


def _with_missing_side(cut, rows, members):
    """In a node without missing values, they go to the larger child, or left if equal."""
    if any(math.isnan(rows.values[row][cut.feature]) for row in members):
        return cut
    left, right = (sum(rows.counts(side)) for side in cut.part(rows, members))
    return replace(cut, missing_left=left >= right)
