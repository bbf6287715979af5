"""The two steps of LACExtraTreesClassifier on lists of rows."""

import math
from dataclasses import dataclass, replace

import numpy as np

from reference.criterion import Totals
from reference.forest import (
    Node,
    average_scores,
    find_leaf,
    grow,
    n_pseudo_labels,
    reseat,
    row_caps,
    top_rows,
)
from reference.random import FeatureDraws, limit_rows
from reference.split import AugmentedRule, GiniRule, Rows, random_cut_of_feature


@dataclass
class ExtraTrees:
    explored: list  # trees of Step I, lists of nodes
    explored_counts: list  # per tree and node: rows by class
    scores: list
    pseudo_labels: list
    trees: list  # trees of Step II
    rows_of_tree: list  # the rows of each tree of Step II

    def probabilities(self, values):
        """Mean over trees of the class shares of the leaf."""
        shares = []
        for tree, rows in zip(self.trees, self.rows_of_tree, strict=True):
            counts = rows.counts(tree[find_leaf(tree, values)].members)
            if sum(counts) == 0:  # only unlabelled rows without pseudo-labels reach this leaf: new
                counts = [0] * rows.n_known + [1]
            shares.append([count / sum(counts) for count in counts])
        return [sum(column) / len(shares) for column in zip(*shares, strict=True)]


def seeds(random_state, n_explorers, n_trees):
    """Streams of Step I, of Step II, and of the labels that Step II draws."""
    entropy = np.random.RandomState(random_state).randint(0, 2**32, size=4, dtype=np.uint32)
    sequences = np.random.SeedSequence(entropy.tolist()).spawn(3)
    sizes = (n_explorers, n_trees, n_trees)
    return [
        sequence.generate_state(size, np.uint64).tolist()
        for sequence, size in zip(sequences, sizes, strict=True)
    ]


def grow_randomly(tree, open_nodes, rows, rule, seed, max_features, search_on):
    """Grow with one random cut per drawn feature: one word for the feature, one for the cut."""
    draws = FeatureDraws(len(rows.values[0]), seed)

    def cuts(rows, members, feature, rule):
        return random_cut_of_feature(rows, members, feature, rule, draws.stream.word())

    grow(tree, open_nodes, rows, rule, draws, max_features, search_on, cuts)


def new_share(score, shift):
    """expit(4 logit(s) + b)."""
    score = min(max(score, 0.001), 0.999)
    odds = 4 * math.log(score / (1 - score)) + shift
    return 1 / (1 + math.exp(-odds))


def new_shares(scores, theta):
    """Shares whose mean is theta; b is found by bisection."""
    low, high = -100.0, 100.0
    while high - low > 1e-12:
        middle = (low + high) / 2
        if sum(new_share(score, middle) for score in scores) < theta * len(scores):
            low = middle
        else:
            high = middle
    return [new_share(score, (low + high) / 2) for score in scores]


def draw_labels(new, votes, prior, seed):
    """One class per row: "new" with its share, else a known class by its share of the votes."""
    uniform = np.random.default_rng(seed).random(len(new)).tolist()
    labels = []
    for share, row, place in zip(new, votes, uniform, strict=True):
        row = [vote + 1e-9 * p / sum(prior) for vote, p in zip(row, prior, strict=True)]
        shares = [share, *[(1 - share) * vote / sum(row) for vote in row]]
        passed = sum(place >= edge for edge in np.cumsum(shares)[:-1])
        labels.append(len(row) if passed == 0 else passed - 1)
    return labels


def grow_extra_trees(
    problem, n_explorers, n_trees, n_hard, min_leaf, random_state, chosen=None, multiple=1.0
):
    """Explore, label, refine: `n_hard` trees on pseudo-labels, the others on drawn labels.

    Pass `chosen` to test Step II alone, since equal scores may differ in the last bit. `multiple`
    is the parameter pseudo_cap.
    """
    n_labeled, n_unlabeled = len(problem.X), problem.n_unlabeled
    rows = Rows(
        values=[*problem.X.tolist(), *problem.X_unlabeled.tolist()],
        classes=[*problem.codes.tolist(), *[problem.n_known] * n_unlabeled],
        weights=[*problem.row_weights.tolist(), *[1] * n_unlabeled],
        n_known=problem.n_known,
        n_categories=problem.n_categories,
    )
    n_known_rows = sum(rows.weights[:n_labeled])
    most_unlabeled = n_unlabeled
    if multiple is not None:
        most_unlabeled = min(n_unlabeled, max(1, math.floor(multiple * 2 * n_known_rows + 1e-9)))
    totals = Totals(problem.theta, n_known_rows, most_unlabeled)
    tau = problem.max_features
    tau_explored = min(4 * tau, problem.X.shape[1])
    explore, refine, label = seeds(random_state, n_explorers, n_trees)
    everyone = list(range(n_labeled + n_unlabeled))

    explored = []
    rule = AugmentedRule(totals, 0.0, min_leaf)
    for first_seed in explore:
        own, seed = limit_rows(everyone, n_labeled, None, most_unlabeled, first_seed)
        explored.append([Node(own)])
        grow_randomly(explored[-1], [0], rows, rule, seed, tau_explored, search_on=False)
    counts = [[rows.counts(node.members) for node in tree] for tree in explored]
    unlabeled = rows.values[n_labeled:]
    scores = average_scores(explored, counts, totals, unlabeled)
    if chosen is None:
        chosen = top_rows(scores, n_pseudo_labels(problem.theta, n_unlabeled))

    forest = ExtraTrees(explored, counts, scores, list(chosen), [], [])
    members = [row for row in everyone if row < n_labeled or chosen[row - n_labeled]]
    caps = row_caps(problem, multiple)
    for seed in refine[:n_hard]:
        forest.trees.append(_refined(rows, *limit_rows(members, n_labeled, *caps, seed), tau))
        forest.rows_of_tree.append(rows)
    if n_hard < n_trees:
        new = new_shares(scores, problem.theta)
        votes = [forest.probabilities(values)[:-1] for values in unlabeled]
        prior = rows.counts(range(n_labeled))[:-1]
        for seed, label_seed in zip(refine[n_hard:], label[n_hard:], strict=True):
            drawn = draw_labels(new, votes, prior, label_seed)
            own = replace(rows, classes=[*rows.classes[:n_labeled], *drawn])
            taken = limit_rows(everyone, n_labeled, caps[0], most_unlabeled, seed)
            forest.trees.append(_refined(own, *taken, tau))
            forest.rows_of_tree.append(own)
    return forest


def deepen(problem, forest, random_state, n_trees, multiple=1.0):
    """The trees of Step I, grown further on pseudo-labels; n_trees is n_estimators."""
    n_explorers, n_labeled = len(forest.explored), len(problem.X)
    _, refine, _ = seeds(random_state, n_explorers, n_trees)
    streams = np.random.SeedSequence(refine).generate_state(n_explorers, np.uint64).tolist()
    rows = forest.rows_of_tree[0]
    everyone = range(len(rows.values))
    members = [row for row in everyone if row < n_labeled or forest.pseudo_labels[row - n_labeled]]
    trees = [[replace(node) for node in tree] for tree in forest.explored]
    for tree, seed in zip(trees, streams, strict=True):
        leaves = [i for i, node in enumerate(tree) if node.cut is None]
        own, seed = limit_rows(members, n_labeled, *row_caps(problem, multiple), seed)
        reseat(tree, rows, own)
        grow_randomly(tree, leaves, rows, GiniRule(), seed, problem.max_features, search_on=True)
    return replace(forest, trees=trees, rows_of_tree=[rows] * n_explorers)


def _refined(rows, members, seed, max_features):
    tree = [Node(members)]
    grow_randomly(tree, [0], rows, GiniRule(), seed, max_features, search_on=True)
    return tree
