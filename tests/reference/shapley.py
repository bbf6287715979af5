"""Shapley values by definition, over all subsets of features, one tree dictionary at a time."""

from itertools import combinations
from math import comb

import numpy as np


def expected_value(tree, row, known):
    """The prediction of a tree for a row of which only the features in `known` are known.

    At a split on another feature both branches are followed, weighted by the rows that took them
    in training, or evenly if there were none.
    """

    def walk(node):
        left, right = tree["children_left"][node], tree["children_right"][node]
        if left < 0:
            return tree["values"][node]
        if tree["features"][node] in known:
            return walk(next_node(tree, node, row))
        weight = tree["node_sample_weight"]
        total = weight[left] + weight[right]
        share = weight[left] / total if total > 0 else 0.5
        return share * walk(left) + (1 - share) * walk(right)

    return walk(0)


def next_node(tree, node, row):
    value = row[tree["features"][node]]
    if np.isnan(value):
        return tree["children_default"][node]
    is_left = value <= tree["thresholds"][node]
    return tree["children_left" if is_left else "children_right"][node]


def leaf_value(tree, row):
    node = 0
    while tree["children_left"][node] >= 0:
        node = next_node(tree, node, row)
    return tree["values"][node]


def shapley_values(worth, n_features):
    """Shapley value of each feature, where worth(subset) is the value of a subset."""
    values = []
    for feature in range(n_features):
        others = [other for other in range(n_features) if other != feature]
        total = 0.0
        for size in range(n_features):
            for subset in combinations(others, size):
                gain = worth({*subset, feature}) - worth(set(subset))
                total = total + gain / (n_features * comb(n_features - 1, size))
        values.append(total)
    return np.array(values)


def path_dependent(trees, row):
    """Absent features are averaged over, weighted by the branches."""

    def worth(known):
        return sum(expected_value(tree, row, known) for tree in trees)

    return shapley_values(worth, len(row)), worth(set())


def interventional(trees, row, background):
    """Absent features are taken from background rows."""

    def worth(known):
        mixed = background.copy()
        mixed[:, sorted(known)] = row[sorted(known)]
        return np.mean([sum(leaf_value(tree, one) for tree in trees) for one in mixed], axis=0)

    return shapley_values(worth, len(row)), worth(set())
