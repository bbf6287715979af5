"""Out-of-bag scores: every tree scores the rows it did not see."""

import math
from dataclasses import dataclass, replace

from reference.forest import Node, find_leaf
from reference.random import FeatureDraws, Stream
from reference.split import GiniRule, best_cut, random_cut_of_feature


@dataclass(frozen=True)
class LeafRule(GiniRule):
    """Gini impurity, and children that keep so many rows."""

    min_leaf: int

    def worth_searching(self, counts):
        return super().worth_searching(counts) and sum(counts) >= 2 * self.min_leaf

    def feasible(self, left, right):
        return min(sum(left), sum(right)) >= self.min_leaf


def is_drawn(word, seed, below):
    """Whether the first word of the stream that starts at the row's word falls below."""
    return Stream(int(word) ^ int(seed)).word() < int(below)


def lowered(cut, rows, members):
    """The cut at the last value that goes left: values that no member has go right.

    A cut between present and missing values has no such value: whatever is present goes left.
    """
    if math.isinf(cut.threshold):
        return cut
    left, _ = cut.part(rows, members)
    present = [rows.values[row][cut.feature] for row in left]
    return replace(cut, threshold=max(value for value in present if not math.isnan(value)))


def grow_on(rows, members, rule, draws, max_features, random_cuts=False):
    """A tree on some of the rows, depth first and left before right."""
    cuts = {}
    if random_cuts:
        cuts = {"cuts": lambda *node: random_cut_of_feature(*node, draws.stream.word())}
    tree, stack = [Node(members)], [0]
    while stack:
        node = tree[stack.pop()]
        if not rule.worth_searching(rows.counts(node.members)):
            continue
        cut = best_cut(
            rows, node.members, rule, draws.at_node(), max_features, search_on=True, **cuts
        )
        if cut is None:
            continue
        left, right = cut.part(rows, node.members)
        node.cut = cut if random_cuts else lowered(cut, rows, node.members)
        node.left = len(tree)
        tree += [Node(left), Node(right)]
        stack += [node.left + 1, node.left]
    return tree


def out_of_bag_sums(
    rows, n_labeled, words, below, rule, max_features, seeds, sample_seeds, random_cuts=False
):
    """Class shares in the leaves that a row fell into, and in how many trees."""
    n_rows, n_features = len(rows.values), len(rows.values[0])
    sums, times = [[0.0] * (rows.n_known + 1) for _ in range(n_rows)], [0] * n_rows
    for seed, sample_seed in zip(seeds, sample_seeds, strict=True):
        drawn = [row for row in range(n_rows) if is_drawn(words[row], sample_seed, below[row])]
        if {row < n_labeled for row in drawn} != {True, False}:
            continue
        draws = FeatureDraws(n_features, seed)
        tree = grow_on(rows, drawn, rule, draws, max_features, random_cuts)
        for row in sorted(set(range(n_rows)) - set(drawn)):
            counts = rows.counts(tree[find_leaf(tree, rows.values[row])].members)
            for k, count in enumerate(counts):
                sums[row][k] += count / sum(counts)
            times[row] += 1
    return sums, times
