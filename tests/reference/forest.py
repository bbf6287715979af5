"""Algorithm 1: both steps on lists of rows."""

import math
from dataclasses import dataclass, field

import numpy as np

from reference.criterion import Totals, vartheta_new
from reference.random import FeatureDraws, bootstrap_sample, hashed_sample, limit_rows
from reference.split import HAIR, AugmentedRule, Cut, GiniRule, Rows, best_cut, cuts_of_feature


@dataclass
class Node:
    members: list
    cut: Cut | None = None
    left: int = -1  # the right child is left + 1


@dataclass
class Forest:
    trees: list  # lists of nodes, the root first
    n_explored: list  # nodes of each tree that Step I made
    scores: list  # LF'_{k+1} of the unlabelled rows
    pseudo_labels: list
    explored_counts: list  # per tree and node of Step I: rows by class
    refined: Rows = field(repr=False)  # the rows of Step II

    def distribution(self, node):
        """T_{i,k} of a leaf.

        For a leaf without rows of Step II (gamma = 0 only), the paper's formula is zero for every
        class. Such a leaf had only unlabelled rows in Step I, which are new by Definition 1.
        """
        counts = self.refined.counts(node.members)
        total = sum(counts)
        if total == 0:
            return [0.0] * (len(counts) - 1) + [1.0]
        return [count / total for count in counts]

    def probabilities(self, values):
        """Mean over trees of T_{i,k}(x); LF(x) is where it is highest."""
        leaves = [tree[find_leaf(tree, values)] for tree in self.trees]
        shares = [self.distribution(leaf) for leaf in leaves]
        return [sum(column) / len(leaves) for column in zip(*shares, strict=True)]


def find_leaf(tree, values):
    node = 0
    while tree[node].cut is not None:
        node = tree[node].left + (not tree[node].cut.goes_left(values))
    return node


def n_pseudo_labels(theta, n_unlabeled):
    """floor(theta * n_u), with tolerance: 0.29 * 100 is 28.999999999999996 but counts as 29."""
    return math.floor(theta * n_unlabeled * (1 + HAIR))


def pseudo_label_cap(problem, multiple, scale=1.0):
    """Most pseudo-labelled rows of a tree: c n_l theta / (1 - theta) or 2 c n_l theta, not 0."""
    if multiple is None:
        return None
    n_labeled = scale * float(sum(problem.row_weights))
    cap = multiple * n_labeled * max(problem.theta / (1 - problem.theta), 2 * problem.theta)
    return max(1, math.floor(cap * (1 + HAIR)))


def labeled_cap(problem, multiple, scale=1.0):
    """Most labelled rows of a tree: those of twice the weight of the known rows to be expected.

    But no less than 30 per known class.
    """
    if multiple is None:
        return None
    expected = 2 * (1 - problem.theta) * scale * problem.n_unlabeled
    mean_weight = float(sum(problem.row_weights)) / len(problem.X)
    return math.ceil(max(expected, 30 * problem.n_known) / mean_weight * (1 - HAIR))


def row_caps(problem, multiple, scale=1.0):
    """Most labelled and most pseudo-labelled rows of a tree."""
    return labeled_cap(problem, multiple, scale), pseudo_label_cap(problem, multiple, scale)


def seeds_of_trees(random_state, n_trees):
    """(bootstrap, Step I, Step II) seeds of each tree."""
    entropy = np.random.RandomState(random_state).randint(0, 2**32, size=4, dtype=np.uint32)
    words = np.random.SeedSequence(entropy.tolist()).generate_state(3 * n_trees, np.uint64)
    return [tuple(int(word) for word in row) for row in words.reshape(n_trees, 3)]


def grow(tree, open_nodes, rows, rule, draws, max_features, search_on, cuts=cuts_of_feature):
    """Split open nodes, depth first and left before right, until nothing can be split."""
    stack = list(reversed(open_nodes))
    while stack:
        node = tree[stack.pop()]
        if not rule.worth_searching(rows.counts(node.members)):
            continue
        cut = best_cut(rows, node.members, rule, draws.at_node(), max_features, search_on, cuts)
        if cut is None:
            continue
        left, right = cut.part(rows, node.members)
        node.cut, node.left = cut, len(tree)
        tree += [Node(left), Node(right)]
        stack += [node.left + 1, node.left]


def top_rows(scores, n_chosen):
    """The rows with the highest scores; among equal scores, earlier rows come first."""
    by_score = sorted(range(len(scores)), key=lambda row: (-scores[row], row))
    chosen = set(by_score[:n_chosen])
    return [row in chosen for row in range(len(scores))]


def grow_forest(
    problem,
    n_trees,
    random_state,
    bootstrap=False,
    pseudo_labels=None,
    multiple=None,
    rate=None,
):
    """Algorithm 1 on a strategies.Problem; without unlabelled rows, its Step II alone.

    Pass pseudo_labels to test Step II alone: equal scores may differ in the last bit, and the
    compiled forest then breaks the tie. `multiple` is the parameter pseudo_cap, and `rate` the
    parameter max_samples as a share.
    """
    n_labeled, n_unlabeled = len(problem.X), problem.n_unlabeled
    rows = Rows(
        values=[*problem.X.tolist(), *problem.X_unlabeled.tolist()],
        classes=[*problem.codes.tolist(), *[problem.n_known] * n_unlabeled],
        weights=[*problem.row_weights.tolist(), *[1] * n_unlabeled],
        n_known=problem.n_known,
        n_categories=problem.n_categories,
    )
    scale = 1.0 if rate is None else rate
    totals = Totals(problem.theta, scale * sum(rows.weights[:n_labeled]), scale * n_unlabeled)
    n_features, tau = problem.X.shape[1], problem.max_features
    seeds = seeds_of_trees(random_state, n_trees)
    everyone = list(range(n_labeled + n_unlabeled))
    samples = [everyone] * n_trees
    if rate is not None:
        samples = [
            hashed_sample(n_labeled, n_unlabeled, seed, rate, bootstrap) for seed, _, _ in seeds
        ]
    elif bootstrap:
        samples = [bootstrap_sample(n_labeled, n_unlabeled, sample) for sample, _, _ in seeds]

    trees = [[Node(sample)] for sample in samples]
    n_explored, explored_counts, scores = [0] * n_trees, [[] for _ in trees], []
    if n_unlabeled > 0:
        for tree, (_, explore, _) in zip(trees, seeds, strict=True):
            rule, draws = AugmentedRule(totals, problem.gamma), FeatureDraws(n_features, explore)
            grow(tree, [0], rows, rule, draws, tau, search_on=False)
        n_explored = [len(tree) for tree in trees]
        explored_counts = [[rows.counts(node.members) for node in tree] for tree in trees]
        scores = average_scores(trees, explored_counts, totals, rows.values[n_labeled:])
    if pseudo_labels is None:
        pseudo_labels = top_rows(scores, n_pseudo_labels(problem.theta, n_unlabeled))

    takes_part = [*[True] * n_labeled, *pseudo_labels]
    caps = row_caps(problem, multiple, scale)
    for tree, sample, (_, _, refine) in zip(trees, samples, seeds, strict=True):
        leaves = [i for i, node in enumerate(tree) if node.cut is None]
        members = [row for row in sample if takes_part[row]]
        members, seed = limit_rows(members, n_labeled, *caps, refine)
        reseat(tree, rows, members)
        draws = FeatureDraws(n_features, seed)
        grow(tree, leaves, rows, GiniRule(), draws, tau, search_on=True)
    return Forest(trees, n_explored, scores, list(pseudo_labels), explored_counts, rows)


def average_scores(trees, explored_counts, totals, unlabeled):
    """LF'_{k+1} of each unlabelled row (Eqn 7)."""
    scores = [0.0] * len(unlabeled)
    for tree, counts in zip(trees, explored_counts, strict=True):
        for i, values in enumerate(unlabeled):
            leaf = counts[find_leaf(tree, values)]
            scores[i] += vartheta_new(leaf[:-1], leaf[-1], totals)
    return [score / len(trees) for score in scores]


def reseat(tree, rows, members):
    """Give every node the members that pass through it on the way to their leaves."""
    for node in tree:
        node.members = []
    tree[0].members = members
    for node in tree:  # children come after their parents
        if node.cut is not None:
            left, right = node.cut.part(rows, node.members)
            tree[node.left].members, tree[node.left + 1].members = left, right
