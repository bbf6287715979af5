"""Metrics computed one row, pair or threshold at a time, in exact fractions.

`new` is the label of the new class; every label that is neither known nor `new` is of a hidden
class.
"""

from fractions import Fraction
from itertools import pairwise


def masked(y_true, known, new):
    return [label if label in known else new for label in y_true]


def share(flags):
    flags = list(flags)
    return Fraction(sum(flags), len(flags))


def accuracy(y_true, y_pred):
    return share(label == predicted for label, predicted in zip(y_true, y_pred, strict=True))


def f1(y_true, y_pred, label):
    """2 P R / (P + R), or 0 where a term is 0 / 0."""
    rows = list(zip(y_true, y_pred, strict=True))
    hits = sum(truth == predicted == label for truth, predicted in rows)
    if hits == 0:
        return Fraction(0)
    precision = Fraction(hits, sum(predicted == label for _, predicted in rows))
    recall = Fraction(hits, sum(truth == label for truth, _ in rows))
    return 2 * precision * recall / (precision + recall)


def macro_f1(y_true, y_pred, classes):
    return sum(f1(y_true, y_pred, label) for label in classes) / len(classes)


def _scores_of(y_true, y_score, new):
    pairs = list(zip(y_true, y_score, strict=True))
    known = [score for label, score in pairs if label != new]
    return known, [score for label, score in pairs if label == new]


def auc(y_true, y_score, new, value_of_tie):
    """The appendix counts pairs whose new row scores strictly higher; it does not define ties."""
    known, others = _scores_of(y_true, y_score, new)
    total = sum(
        Fraction(above > below) + value_of_tie * (above == below)
        for below in known
        for above in others
    )
    return total / (len(known) * len(others))


def average_precision(y_true, y_score, new):
    """Sum over thresholds of precision times the step in recall."""
    known, others = _scores_of(y_true, y_score, new)
    total, recall_before = Fraction(0), Fraction(0)
    for threshold in sorted({*known, *others}, reverse=True):
        hits = sum(score >= threshold for score in others)
        called = hits + sum(score >= threshold for score in known)
        recall = Fraction(hits, len(others))
        total += Fraction(hits, called) * (recall - recall_before)
        recall_before = recall
    return total


def fpr_at_tpr(y_true, y_score, new, tpr):
    """Lowest false positive rate of all thresholds with a sufficient true positive rate."""
    known, others = _scores_of(y_true, y_score, new)
    return min(
        share(score >= threshold for score in known)
        for threshold in others
        if share(score >= threshold for score in others) >= tpr
    )


def _closed_set_right(y_true, y_proba, known):
    """Whether the first known class of the highest probability is right."""
    guesses = [known[max(range(len(known)), key=lambda i, row=row: row[i])] for row in y_proba]
    return [label == guess for label, guess in zip(y_true, guesses, strict=True)]


def oscr_points(y_true, y_proba, novelty, known, new):
    """(fpr, ccr) at every threshold, starting where no row is taken for known."""
    right = _closed_set_right(y_true, y_proba, known)
    rows = list(zip(y_true, right, novelty, strict=True))
    points = [(Fraction(0), Fraction(0))]
    for threshold in sorted(set(novelty)):
        fpr = share(score <= threshold for label, _, score in rows if label == new)
        ccr = share(
            is_right and score <= threshold for label, is_right, score in rows if label != new
        )
        points.append((fpr, ccr))
    return points


def area(points):
    return sum((x1 - x0) * (y0 + y1) / 2 for (x0, y0), (x1, y1) in pairwise(points))


def augmented_accuracy(y_true, y_pred, theta, new, unlabeled):
    """Estimate of the accuracy without labels of the new class."""
    rows = list(zip(y_true, y_pred, strict=True))
    labeled = [(label, predicted) for label, predicted in rows if label != unlabeled]
    gain = sum((label == predicted) - (predicted == new) for label, predicted in labeled)
    called_new = share(predicted == new for label, predicted in rows if label == unlabeled)
    return (1 - Fraction(theta)) * Fraction(gain, len(labeled)) + called_new


def augmented_accuracy_by_shares(y_true, y_pred, theta, new, unlabeled, shares):
    """The same with known classes in the given shares; classes without rows are left out."""
    rows = list(zip(y_true, y_pred, strict=True))
    present = sorted({label for label in y_true if label != unlabeled})
    total = sum(Fraction(shares[label]) for label in present)
    gain = Fraction(0)
    for label in present:
        answers = [predicted for truth, predicted in rows if truth == label]
        points = sum((predicted == label) - (predicted == new) for predicted in answers)
        gain += Fraction(shares[label]) / total * Fraction(points, len(answers))
    called_new = share(predicted == new for label, predicted in rows if label == unlabeled)
    return (1 - Fraction(theta)) * gain + called_new
