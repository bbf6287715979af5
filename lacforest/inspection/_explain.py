"""Why a row looks new, in words."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy import sparse

from lacforest._input.parameters import check_int
from lacforest._model.tree_view import check_names
from lacforest.inspection._shap import explain_new_class, see_as_forest


@dataclass(frozen=True)
class Reason:
    """What one column adds to the probability of the new class.

    Attributes
    ----------
    column : str
    value : float
        Of the row; NaN where it is missing. Of a category that is text, its rank.
    effect : float
        The Shapley value of the column.
    category : str or None
        The text that the value stands for, in a column of categories or of coded text.
    """

    column: str
    value: float
    effect: float
    category: str | None = None

    def __str__(self) -> str:
        if np.isnan(self.value):
            return f"{self.column} is missing ({self.effect:+.3f})"
        shown = f"{self.value:.6g}" if self.category is None else self.category
        return f"{self.column} = {shown} ({self.effect:+.3f})"


@dataclass(frozen=True)
class Explanation:
    """The columns that matter most to one row's probability of the new class.

    Attributes
    ----------
    score : float
        Probability of the new class.
    base_value : float
        Probability of a row of which nothing is known.
    reasons : tuple of Reason
        Largest effects first.
    n_other : int
        Columns that are not among the reasons.
    other_effect : float
        The sum of their effects.
    """

    score: float
    base_value: float
    reasons: tuple[Reason, ...]
    n_other: int
    other_effect: float

    def __str__(self) -> str:
        parts = [str(reason) for reason in self.reasons]
        if self.n_other > 0:
            columns = "column" if self.n_other == 1 else "columns"
            parts.append(f"{self.n_other} other {columns} ({self.other_effect:+.3f})")
        probability = f"probability of new {self.score:.3f} (average {self.base_value:.3f})"
        return f"{probability}: {', '.join(parts)}"


def explain(
    estimator: Any,
    X: ArrayLike,
    n_columns: int = 3,
    *,
    feature_names: Sequence[str] | None = None,
    categories: Mapping[str, Sequence[str]] | None = None,
) -> list[Explanation]:
    """The columns that raise or lower each row's probability of the new class most.

    Parameters
    ----------
    estimator : LACForestClassifier or LACExtraTreesClassifier, or a Pipeline or search with one
        Fitted with unlabelled rows.
    X : array-like, frame or sparse matrix of shape (n_rows, n_features)
    n_columns : int, default=3
        Columns per row; all of them where there are fewer.
    feature_names : list of str, optional
        Names of the columns; those of the fit by default.
    categories : dict of str to list of str, optional
        For columns of text coded as 0, 1, 2 and so on: the texts.

    Returns
    -------
    list of Explanation
        One per row. ``str`` of it is a sentence.

    See Also
    --------
    shap_values : The values of all columns.

    Notes
    -----
    Of a forest that was adapted to a batch, the votes of its trees are explained, without the
    adaptation.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from lacforest import LACForestClassifier
    >>> from lacforest.inspection import explain
    >>> X, y = load_iris(return_X_y=True, as_frame=True)
    >>> known = y < 2
    >>> forest = LACForestClassifier(theta=1 / 3, random_state=0)
    >>> X.columns = ["sepal length", "sepal width", "petal length", "petal width"]
    >>> forest = forest.fit(X[known][::2], y[known][::2], X_unlabeled=X[1::2])
    >>> print(explain(forest, X[-1:], n_columns=1)[0])
    probability of new 1.000 (average 0.333): petal length = 5.1 (+0.318), 3 other columns (+0.349)
    """
    check_int("n_columns", n_columns, 1)
    forest, table = see_as_forest(estimator, X)
    values, base = explain_new_class(forest, table)
    names = check_names(
        getattr(forest, "feature_names_in_", None) if feature_names is None else feature_names,
        table.shape[1],
        "feature_names",
        "feature_{}",
    )
    texts = {} if categories is None else categories
    known = getattr(forest, "categories_", (None,) * table.shape[1])
    order = np.argsort(-np.abs(values), axis=1, kind="stable")[:, :n_columns]
    explanations = []
    for row, (effects, chosen) in enumerate(zip(values, order, strict=True)):
        cells = table[[row]].toarray()[0] if sparse.issparse(table) else table[row]
        reasons = tuple(
            Reason(
                names[column],
                value,
                float(effects[column]),
                _category(texts.get(names[column]), value) if category is None else category,
            )
            for column in chosen
            for value, category in [_read_cell(float(cells[column]), known[column])]
        )
        explanations.append(
            Explanation(
                score=float(base + effects.sum()),
                base_value=float(base),
                reasons=reasons,
                n_other=len(effects) - len(chosen),
                other_effect=float(np.delete(effects, chosen).sum()),
            )
        )
    return explanations


def _read_cell(cell: float, known: NDArray[Any] | None) -> tuple[float, str | None]:
    """The number in a table as the trees see it, or what the rank of a category stands for."""
    if known is None or np.isnan(cell):
        return cell, None
    category = known[int(cell)]
    return (cell, category) if isinstance(category, str) else (float(category), None)


def _category(texts: Sequence[str] | None, value: float) -> str | None:
    """The text that a code stands for."""
    if texts is None or not value.is_integer() or not 0 <= value < len(texts):
        return None
    return texts[int(value)]
