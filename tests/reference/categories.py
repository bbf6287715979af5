"""Cuts of a column of categories: every cut of an order of the node, or a random one.

Sums run over categories and classes in the order of the compiled core, so that scores agree to the
last bit and no order depends on rounding.
"""

import math
import operator
from dataclasses import dataclass
from functools import reduce

N_ROUNDS = 3  # of the power method
ROWS_PER_CATEGORY = 4  # below which one category stands against all others,
MANY = 8  # if there are more than these


def total(numbers):
    """A plain sum from the first to the last; `sum` of newer Pythons rounds less."""
    return reduce(operator.add, numbers, 0.0)


@dataclass(frozen=True)
class SetCut:
    """Categories of a node on either side; all others go where missing values go."""

    feature: int
    left: frozenset
    right: frozenset
    missing_left: bool

    def goes_left(self, values):
        value = values[self.feature]
        if value in self.left or value in self.right:
            return value in self.left
        return self.missing_left

    def part(self, rows, members):
        left = [row for row in members if self.goes_left(rows.values[row])]
        right = [row for row in members if not self.goes_left(rows.values[row])]
        return left, right

    @property
    def inside(self):
        """The categories on the side that missing values are not on."""
        return self.right if self.missing_left else self.left


def shares_of_categories(rows, members, feature, known_mass):
    """Shares of the classes in the mass of each category, and that mass, in order of codes."""
    counts = {}
    for row in members:
        category = rows.values[row][feature]
        if not math.isnan(category):
            own = counts.setdefault(category, [0] * (rows.n_known + 1))
            own[rows.classes[row]] += rows.weights[row]
    shares, masses = {}, {}
    for category, own in sorted(counts.items()):
        parts = [count * known_mass for count in own[:-1]] + [float(own[-1])]
        masses[category] = total(parts)
        shares[category] = [part * (1.0 / masses[category]) for part in parts]
    return shares, masses


def principal_direction(deviations, masses, n_classes):
    """The direction of most variance, by the power method from the class of most variance."""
    variance = [
        total(masses[c] * deviations[c][k] * deviations[c][k] for c in masses)
        for k in range(n_classes)
    ]
    widest = variance.index(max(variance))
    direction = [float(k == widest) for k in range(n_classes)]
    for _ in range(N_ROUNDS):
        following = [0.0] * n_classes
        for c in masses:
            weight = masses[c] * _along(deviations[c], direction)
            following = [f + weight * d for f, d in zip(following, deviations[c], strict=True)]
        direction = following
    return direction


def _along(deviation, direction):
    return total(d * v for d, v in zip(deviation, direction, strict=True))


def order_of_categories(rows, members, feature, known_mass):
    """(score, category) of the categories of a node, in ascending order.

    Two categories have one cut, and need no scores.
    """
    shares, masses = shares_of_categories(rows, members, feature, known_mass)
    n_classes = rows.n_known + 1
    if len(shares) <= 2:
        return [(0.0, category) for category in sorted(shares)]
    if n_classes == 2:
        return sorted((shares[c][1], c) for c in shares)
    mass = total(masses.values())
    mean = [total(masses[c] * shares[c][k] for c in masses) / mass for k in range(n_classes)]
    deviations = {c: [p - m for p, m in zip(shares[c], mean, strict=True)] for c in shares}
    direction = principal_direction(deviations, masses, n_classes)
    return sorted((_along(deviations[c], direction), c) for c in shares)


def has_few_rows(rows, members, feature):
    """Whether the categories of a node are many and have few rows each, by weight."""
    present = [row for row in members if not math.isnan(rows.values[row][feature])]
    n_categories = len({rows.values[row][feature] for row in present})
    n_rows = sum(rows.weights[row] for row in present)
    return n_categories > MANY and n_rows < ROWS_PER_CATEGORY * n_categories


def single_category(rows, members, feature, known_mass):
    """The categories of a node in order of codes, after the one that is best cut off alone."""
    shares, masses = shares_of_categories(rows, members, feature, known_mass)
    mass = total(masses.values())
    n_classes = rows.n_known + 1
    mean = [total(masses[c] * shares[c][k] for c in masses) / mass for k in range(n_classes)]

    def gain(category):
        own = masses[category]
        deviation = [p - m for p, m in zip(shares[category], mean, strict=True)]
        reduction = _along(deviation, deviation) * own
        return reduction / (mass - own) if own < mass else reduction

    gains = {category: gain(category) for category in shares}
    best = max(gains, key=gains.get)
    return [best, *(category for category in shares if category != best)]


def _cut(rows, feature, ordered, n_left, missing_left):
    left, right = frozenset(ordered[:n_left]), frozenset(ordered[n_left:])
    if not right:  # present | missing: all categories of the column are present
        left = frozenset(float(code) for code in range(rows.n_categories[feature]))
    return SetCut(feature, left, right, missing_left)


def _has_missing(rows, members, feature):
    return any(math.isnan(rows.values[row][feature]) for row in members)


def cuts_of_categories(rows, members, feature, known_mass):
    """Candidates in the order of preference in ties."""
    if has_few_rows(rows, members, feature):
        ordered = single_category(rows, members, feature, known_mass)
        between = range(1, 2)
    else:
        ordered = [c for _, c in order_of_categories(rows, members, feature, known_mass)]
        between = range(1, len(ordered))
    for n_left in between:
        yield _cut(rows, feature, ordered, n_left, missing_left=False)
    if ordered and _has_missing(rows, members, feature):
        yield _cut(rows, feature, ordered, len(ordered), missing_left=False)
        for n_left in between:
            yield _cut(rows, feature, ordered, n_left, missing_left=True)


def random_cut_of_categories(rows, members, feature, known_mass, word):
    """One cut, at a share word / 2**64 of the way from the lowest to the highest score."""
    scored = order_of_categories(rows, members, feature, known_mass)
    some_missing = _has_missing(rows, members, feature)
    ordered = [c for _, c in scored]
    if len(ordered) <= 1:
        if ordered and some_missing:
            yield _cut(rows, feature, ordered, 1, missing_left=False)
        return
    share = (word >> 11) / 2**53
    low, high = scored[0][0], scored[-1][0]
    if has_few_rows(rows, members, feature):
        ordered, n_left = single_category(rows, members, feature, known_mass), 1
    elif low == high:
        n_left = 1 + int(share * (len(ordered) - 1))
    else:
        threshold = low + share * (high - low)
        below = sum(score <= threshold for score, _ in scored[1:-1])
        n_left = 1 + below
    yield _cut(rows, feature, ordered, n_left, missing_left=False)
    if some_missing:
        yield _cut(rows, feature, ordered, n_left, missing_left=True)
