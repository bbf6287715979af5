"""Losses and scores of the compared deep methods, in plain Python loops."""

import math


def softmax(row):
    highest = max(row)
    powers = [math.exp(z - highest) for z in row]
    return [power / sum(powers) for power in powers]


def generalised_cross_entropy(row, code, q):
    return (1 - softmax(row)[code] ** q) / q


def one_versus_rest(row, code, loss):
    values = row if loss == "logistic" else [2 * p - 1 for p in softmax(row)]
    total = 0.0
    for k, z in enumerate(values):
        margin = z if k == code else -z
        total += math.log1p(math.exp(-margin)) if loss == "logistic" else 1 / (1 + math.exp(margin))
    return total


def new_class_risks(labeled, y, unlabeled, theta, loss):
    """A and B: the risk of known rows, and the estimate of that of new ones."""
    new = len(labeled[0]) - 1
    share = 1 - theta
    risk_a = share * sum(loss(row, k) for row, k in zip(labeled, y, strict=True)) / len(y)
    risk_b = sum(loss(row, new) for row in unlabeled) / len(unlabeled)
    risk_b -= share * sum(loss(row, new) for row in labeled) / len(labeled)
    return risk_a, risk_b


def new_class_risks_by_shares(labeled, y, unlabeled, theta, shares, loss):
    """A and B where class k has the share shares[k] of the known rows of deployment."""
    new = len(labeled[0]) - 1
    risk_a = risk_of_known_called_new = 0.0
    for k, share in shares.items():
        rows = [row for row, label in zip(labeled, y, strict=True) if label == k]
        risk_a += (1 - theta) * share * sum(loss(row, k) for row in rows) / len(rows)
        called_new = sum(loss(row, new) for row in rows) / len(rows)
        risk_of_known_called_new += (1 - theta) * share * called_new
    risk_of_unlabeled = sum(loss(row, new) for row in unlabeled) / len(unlabeled)
    return risk_a, risk_of_unlabeled - risk_of_known_called_new


def openmax(row, outlier_shares, alpha):
    """Logits of "new" and of the classes, revised."""
    order = sorted(range(len(row)), key=lambda k: -row[k])
    revised, new = list(row), 0.0
    for rank, k in enumerate(order[:alpha], start=1):
        taken = row[k] * outlier_shares[k] * (alpha + 1 - rank) / alpha
        revised[k] -= taken
        new += taken
    return [new, *revised]


def reciprocal_logits(features, points):
    """Mean squared difference from each point, minus the product with it."""
    return [
        sum((f - p) ** 2 for f, p in zip(features, point, strict=True)) / len(features)
        - sum(f * p for f, p in zip(features, point, strict=True))
        for point in points
    ]
