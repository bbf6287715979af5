"""Section 4 of the paper in plain Python loops: mu_B, Definition 2, L_ag and DT_{i,k}.

Nodes are numbered from 1 in the order of levels, as in the paper: node i has the children 2i and
2i + 1, inner nodes are 1..t and leaves t + 1..2t + 1 with t = 2^(l - 1) - 1.
"""

import math


def sigmoid(z):
    return 1 / (1 + math.exp(-z)) if z >= 0 else math.exp(z) / (1 + math.exp(z))


def n_inner(depth):
    return 2 ** (depth - 1) - 1


def leaf_probability(leaf, left):
    """mu_B: the product over the ancestors of a leaf; `left[i - 1]` is f_i."""
    product = 1.0
    node = leaf
    while node > 1:
        parent = node // 2
        product *= left[parent - 1] if node == 2 * parent else 1 - left[parent - 1]
        node = parent
    return product


def leaf_probabilities(features, weights, biases, depth):
    """mu_B of every row, tree and leaf; `weights[tree][node]` is a vector."""
    t = n_inner(depth)
    rows = []
    for h in features:
        trees = []
        for of_tree, bias in zip(weights, biases, strict=True):
            left = [
                sigmoid(sum(a * b for a, b in zip(w, h, strict=True)) + c)
                for w, c in zip(of_tree, bias, strict=True)
            ]
            trees.append([leaf_probability(leaf, left) for leaf in range(t + 1, 2 * t + 2)])
        rows.append(trees)
    return rows


def proportions(labeled, y, unlabeled, theta, n_classes):
    """vartheta_{B,k} of one leaf from the mu_B(x) of all rows; the new class is last.

    A leaf that no unlabelled row reaches has no new class, as in Definition 1.
    """
    n_l, n_u = len(labeled), len(unlabeled)
    n_bl, n_bu = sum(labeled), sum(unlabeled)
    new = max(0.0, 1 - (1 - theta) * n_u * n_bl / (n_l * n_bu)) if n_bu > 0 else 0.0
    known = []
    for k in range(n_classes):
        mass = sum(mu for mu, label in zip(labeled, y, strict=True) if label == k)
        known.append((1 - new) * mass / n_bl if n_bl > 0 else 0.0)
    return [*known, new]


def augmented_gini(labeled, y, unlabeled, theta, n_classes):
    """G_B(S_l, S_u) of one leaf (Eqn 8)."""
    shares = proportions(labeled, y, unlabeled, theta, n_classes)
    return 1 - sum(share * share for share in shares)


def gini_loss(mu_labeled, y, mu_unlabeled, theta, n_classes):
    """L_ag of each tree (Eqn 11)."""
    losses = []
    for tree in range(len(mu_labeled[0])):
        loss = 0.0
        for leaf in range(len(mu_labeled[0][0])):
            labeled = [row[tree][leaf] for row in mu_labeled]
            unlabeled = [row[tree][leaf] for row in mu_unlabeled]
            omega = sum(unlabeled) / len(unlabeled)
            loss += omega * augmented_gini(labeled, y, unlabeled, theta, n_classes)
        losses.append(loss)
    return losses


def cross_entropy(logits, y):
    """L_ce of a batch."""
    total = 0.0
    for row, label in zip(logits, y, strict=True):
        total -= row[label] - math.log(sum(math.exp(z) for z in row))
    return total / len(y)


def tree_probabilities(mu, shares):
    """DT_{i,k}(x) of one row: `mu[tree][leaf]`, `shares[tree][leaf][k]`."""
    n_classes = len(shares[0][0])
    return [
        [
            sum(p * share[k] for p, share in zip(of_tree, of_leaves, strict=True))
            for k in range(n_classes)
        ]
        for of_tree, of_leaves in zip(mu, shares, strict=True)
    ]


def remembered_gini_loss(batches, theta, n_classes, factor):
    """L_ag of each tree after the last batch, with running shares in place of those of the batch.

    `batches` holds mu of labelled rows, their classes, and mu of unlabelled rows.
    """
    n_trees, n_leaves = len(batches[0][0][0]), len(batches[0][0][0][0])
    losses = []
    for tree in range(n_trees):
        loss = 0.0
        for leaf in range(n_leaves):
            known, omega = None, None
            for labeled, y, unlabeled in batches:
                shares = [
                    sum(r[tree][leaf] for r, label in zip(labeled, y, strict=True) if label == k)
                    / len(labeled)
                    for k in range(n_classes)
                ]
                share = sum(row[tree][leaf] for row in unlabeled) / len(unlabeled)
                if known is None:
                    known, omega = shares, share
                else:
                    pairs = zip(known, shares, strict=True)
                    known = [factor * old + (1 - factor) * now for old, now in pairs]
                    omega = factor * omega + (1 - factor) * share
            new = max(0.0, 1 - (1 - theta) * sum(known) / omega)
            squares = sum((share / sum(known)) ** 2 for share in known)
            loss += omega * (1 - new**2 - (1 - new) ** 2 * squares)
        losses.append(loss)
    return losses
