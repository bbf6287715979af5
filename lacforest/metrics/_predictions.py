"""Measures of predicted labels, which are known classes or the new class."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from sklearn import metrics
from sklearn.utils import check_consistent_length

from lacforest._input.ground_truth import read_truth, read_with_known
from lacforest._input.labels import as_labels, check_labels, check_weight, find_sentinel
from lacforest._input.parameters import check_share, weights_to_shares


def accuracy_score(
    y_true: Any, y_pred: Any, *, known_classes: Any = None, new_label: Any = "auto"
) -> float:
    """Share of rows with the right label, where "new" is right for all hidden classes.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        True labels.
    y_pred : array-like of shape (n_rows,)
        Predicted labels.
    known_classes : list of labels, optional
        Known classes, if `y_true` contains labels of hidden ones: every label that is not listed
        counts as new.
    new_label : object, default="auto"
        Label of new rows in `y_pred`. "auto" is the new label of a `LACForestClassifier` that is
        fitted on `known_classes`. Not used without them.

    Returns
    -------
    float

    Examples
    --------
    >>> from lacforest.metrics import accuracy_score
    >>> accuracy_score(["a", "b", "<new>", "<new>"], ["a", "<new>", "<new>", "<new>"])
    0.75
    >>> accuracy_score(
    ...     ["a", "b", "c", "d"], ["a", "<new>", "<new>", "<new>"], known_classes=["a", "b"]
    ... )
    0.75
    """
    if known_classes is None:
        return float(metrics.accuracy_score(y_true, y_pred))
    truth = read_truth(y_true, known_classes, new_label)
    return float(metrics.accuracy_score(truth.y, truth.check_predicted(y_pred)))


def macro_f1_score(
    y_true: Any, y_pred: Any, *, known_classes: Any = None, new_label: Any = "auto"
) -> float:
    """Mean F1 score of all known classes and the new class.

    Parameters
    ----------
    y_true, y_pred, known_classes, new_label
        As in `accuracy_score`. The mean is over `known_classes` and the new class; without
        `known_classes`, over the classes that occur in `y_true` or `y_pred`.

    Returns
    -------
    float

    Notes
    -----
    The F1 score of a class is 0 if no row of the class is predicted correctly, also if the class
    has no rows. A listed class that occurs in neither `y_true` nor `y_pred` therefore counts as 0;
    without `known_classes` it does not count. scikit-learn does the same with
    ``zero_division=0``.

    Examples
    --------
    >>> from lacforest.metrics import macro_f1_score
    >>> macro_f1_score(["a", "a", "<new>"], ["a", "<new>", "<new>"])
    0.6666666666666666
    """
    classes = None
    if known_classes is not None:
        truth, labels = read_with_known(y_true, known_classes, new_label)
        y_true, y_pred, classes = truth.y, truth.check_predicted(y_pred), labels.classes
    return float(metrics.f1_score(y_true, y_pred, labels=classes, average="macro", zero_division=0))


def known_accuracy_score(
    y_true: Any, y_pred: Any, *, known_classes: Any = None, new_label: Any = "auto"
) -> float:
    """Share of the rows of known classes with the right label; "new" counts as wrong.

    Parameters
    ----------
    y_true, y_pred
        As in `accuracy_score`.
    known_classes : list of labels, optional
    new_label : object, default="auto"
        Pass one of them to define which rows of `y_true` are new: those of no class in
        `known_classes`, or those with the label `new_label`.

    Returns
    -------
    float

    Examples
    --------
    >>> from lacforest.metrics import known_accuracy_score
    >>> known_accuracy_score([0, 0, 1, -1], [0, -1, 1, 0], new_label=-1)
    0.6666666666666666
    """
    truth = read_truth(y_true, known_classes, new_label)
    predicted = truth.check_predicted(y_pred)
    truth.need_known("the accuracy on known classes")
    return float(metrics.accuracy_score(truth.y[~truth.is_new], predicted[~truth.is_new]))


def new_class_recall(
    y_true: Any, y_pred: Any, *, known_classes: Any = None, new_label: Any = "auto"
) -> float:
    """Share of new rows that are called new.

    Parameters
    ----------
    y_true, y_pred, known_classes, new_label
        As in `known_accuracy_score`.

    Returns
    -------
    float

    Examples
    --------
    >>> from lacforest.metrics import new_class_recall
    >>> new_class_recall([0, 1, -1, -1], [0, -1, -1, 1], new_label=-1)
    0.5
    """
    truth = read_truth(y_true, known_classes, new_label)
    called_new = find_sentinel(truth.check_predicted(y_pred), truth.new_label)
    truth.need_new("the recall of the new class")
    return float(called_new[truth.is_new].mean())


def new_class_precision(
    y_true: Any, y_pred: Any, *, known_classes: Any = None, new_label: Any = "auto"
) -> float:
    """Share of the rows called new that are new; 0 if there are none.

    Parameters
    ----------
    y_true, y_pred, known_classes, new_label
        As in `known_accuracy_score`.

    Returns
    -------
    float

    Examples
    --------
    >>> from lacforest.metrics import new_class_precision
    >>> new_class_precision([0, 1, -1, -1], [0, -1, -1, -1], new_label=-1)
    0.6666666666666666
    """
    truth = read_truth(y_true, known_classes, new_label)
    called_new = find_sentinel(truth.check_predicted(y_pred), truth.new_label)
    return float(truth.is_new[called_new].mean()) if called_new.any() else 0.0


def theta_error(
    y_true: Any, theta: float, *, known_classes: Any = None, new_label: Any = "auto"
) -> float:
    """Absolute difference between theta and the share of new rows.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        True labels of the unlabelled rows, or of other rows of the same distribution.
    theta : float
        The estimated share, such as ``forest.theta_``.
    known_classes, new_label
        As in `known_accuracy_score`.

    Returns
    -------
    float

    Examples
    --------
    >>> from lacforest.metrics import theta_error
    >>> theta_error([0, 1, -1, -1], 0.25, new_label=-1)
    0.25
    """
    truth = read_truth(y_true, known_classes, new_label)
    if len(truth.y) == 0:
        raise ValueError("the error of theta is undefined: y_true has no rows")
    return abs(float(truth.is_new.mean()) - check_share(theta))


def augmented_accuracy_score(
    y_true: Any,
    y_pred: Any,
    *,
    theta: float,
    new_label: Any,
    unlabeled_label: Any,
    known_shares: Mapping[Any, float] | None = None,
    sample_weight: Any = None,
) -> float:
    r"""Accuracy over known and new rows, estimated without a label of the new class.

    With :math:`\pi = 1 - \theta`, the share of known rows among unlabelled ones,

    .. math::

       \hat A(h) = \pi \operatorname{mean}_{labelled} \bigl[ 1\{h(x) = y\}
       - 1\{h(x) = new\} \bigr] + \operatorname{mean}_{unlabelled} 1\{h(x) = new\}.

    Its expectation is the accuracy of h on the distribution of the unlabelled rows, if h was not
    fitted on these rows, `theta` is right, and labelled rows are a sample of the known rows. Where
    known classes have other shares :math:`q_k` in deployment, the mean over labelled rows is
    :math:`\sum_k q_k \operatorname{mean}_{labelled, y = k}`.

    Parameters
    ----------
    y_true : array-like of shape (n_rows,)
        Known labels, and `unlabeled_label` for unlabelled rows. Both kinds of rows are required.
    y_pred : array-like of shape (n_rows,)
        Predicted labels.
    theta : float
        Share of new rows among unlabelled ones, in [0, 1].
    new_label : object
        Label of new rows in `y_pred`. It may equal `unlabeled_label`.
    unlabeled_label : object
        The label that marks unlabelled rows in `y_true`.
    known_shares : dict, optional
        Share of every known class among the known rows of deployment, by label, such as
        ``dict(zip(forest.known_classes_, forest.known_shares_))``. By default those of labelled
        rows. A class without labelled rows in `y_true` is left out, and the others share its part.
    sample_weight : array-like of shape (n_rows,), optional
        Weights of rows in the means over labelled and over unlabelled rows; with `known_shares`,
        in the mean over the labelled rows of each class.

    Returns
    -------
    float
        Can lie outside of [0, 1], by chance or because `theta` is wrong.

    Notes
    -----
    Every unlabelled row that is called new counts as right, even if it is known. The
    share of such errors is estimated from the labelled rows and subtracted.

    Compare classifiers by the same `theta` and `known_shares`, because the score depends on them.

    Examples
    --------
    >>> from lacforest.metrics import augmented_accuracy_score
    >>> y_true = ["a", "a", "b", "b", "?", "?", "?", "?"]
    >>> y_pred = ["a", "a", "b", "a", "a", "b", "<new>", "<new>"]
    >>> augmented_accuracy_score(
    ...     y_true, y_pred, theta=0.5, new_label="<new>", unlabeled_label="?"
    ... )
    0.875
    """
    known_share = 1.0 - check_share(theta)
    labels, predicted = as_labels(y_true, name="y_true"), as_labels(y_pred, name="y_pred")
    check_consistent_length(labels, predicted)
    unlabeled = find_sentinel(labels, unlabeled_label)
    if not unlabeled.any():
        raise ValueError(
            f"no row of y_true is marked as unlabelled by {unlabeled_label!r}: the estimate needs "
            "unlabelled rows that the classifier was not fitted on, such as those held out by "
            "AugmentedKFold(unlabeled='split')"
        )
    if unlabeled.all():
        raise ValueError(
            f"every row of y_true is marked as unlabelled by {unlabeled_label!r}: the estimate "
            "also needs labelled rows"
        )
    labels = check_labels(labels[~unlabeled])
    if find_sentinel(labels, new_label).any():
        raise ValueError(
            f"y_true contains new_label {new_label!r}: labelled rows must be of known classes. "
            "Leave new rows out, or use accuracy_score if all rows are labelled."
        )
    called_new = find_sentinel(predicted, new_label)
    weight = check_weight(sample_weight, len(unlabeled))
    weight = np.ones(len(unlabeled)) if weight is None else weight.copy()
    means = []
    for rows, kind in ((~unlabeled, "labelled"), (unlabeled, "unlabelled")):
        if not weight[rows].any():
            raise ValueError(f"sample_weight is zero for every {kind} row")
        if known_shares is not None and kind == "labelled":
            weight[rows] = weights_to_shares(labels, known_shares, weight[rows])
        means.append(np.average(called_new[rows], weights=weight[rows]))
    right = metrics.accuracy_score(labels, predicted[~unlabeled], sample_weight=weight[~unlabeled])
    return float(known_share * (right - means[0]) + means[1])
