"""What a report says about a fitted forest and some rows."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from lacforest import __version__
from lacforest._base_forest import BaseLACForest
from lacforest.inspection import (
    ConfusionDisplay,
    NoveltyHistogramDisplay,
    OSCRDisplay,
    ThetaSensitivityDisplay,
    new_versus_known_importances,
)
from lacforest.metrics import augmented_scores
from lacforest.mixture import RatioCurveDisplay, ThetaEstimator, ThetaReport
from lacforest.report._html import Card, Page, Section, Table, write_page
from lacforest.report._pictures import Picture, draw

_MOST_FEATURES = 12
_MOST_ROWS = 10
_MEASURES = {
    "accuracy": "accuracy over known classes and new",
    "known_accuracy": "accuracy on rows of known classes",
    "new_recall": "new rows that were called new",
    "new_precision": "rows called new that are new",
    "new_auc": "AUC of the new class",
    "macro_f1": "macro-F1",
    "oscr": "OSCR",
}


def write_report(
    path: str | os.PathLike[str],
    forest: BaseLACForest,
    X: Any,
    y_true: Any = None,
    *,
    training: tuple[Any, Any, Any] | None = None,
    diagnosis: ThetaReport | None = None,
    feature_names: Sequence[str] | None = None,
    title: str = "What is new?",
    facts: dict[str, str] | None = None,
) -> None:
    """Write one HTML file with what a forest finds in some rows: figures, checks and pictures.

    The file needs no network and no other file.

    Parameters
    ----------
    path : path
        The file to write; written under a temporary name and renamed.
    forest : LACForestClassifier or LACExtraTreesClassifier
        Fitted with unlabelled rows.
    X : array-like of shape (n_rows, n_features)
        Rows to report on.
    y_true : array-like of shape (n_rows,), optional
        What they are, for the measures of quality. Labels of classes that the forest does not know
        count as new.
    training : tuple of X, y and X_unlabeled, optional
        The rows of the fit. With them the report shows how predictions change as theta moves
        through its interval, which takes some more fits.
    diagnosis : ThetaReport, optional
        From `lacforest.mixture.diagnose`.
    feature_names : list of str, optional
        By default those of the fit, if it had any.
    title : str, default="What is new?"
    facts : dict of str to str, optional
        More lines for the table of facts.
    """
    check_is_fitted(forest)
    if forest.new_class_index_ is None:
        raise ValueError(
            "this forest was fitted without unlabelled rows and knows no new class: there is "
            "nothing to report"
        )
    novelty = forest.novelty_score(X)
    predicted = forest.predict(X)
    is_new = predicted == forest.new_label_
    sections = [
        _quality(forest, X, y_true),
        _pictures(forest, X, y_true, training),
        _checks(diagnosis),
        _importances(forest, feature_names),
        _newest(novelty, predicted),
        _facts(forest, facts or {}),
    ]
    page = Page(
        title=title,
        lead=_lead(forest, is_new),
        cards=_cards(forest, is_new),
        sections=[section for section in sections if section is not None],
        foot=f"Made by lacforest {__version__}.",
    )
    write_page(page, path)


def _lead(forest: BaseLACForest, is_new: NDArray[np.bool_]) -> str:
    share = f"{is_new.mean():.1%} of {len(is_new)} rows are called new"
    if forest.theta_interval_ is None:
        return f"{share}; theta was given as {forest.theta_:.3f}."
    low, high = forest.theta_interval_
    return (
        f"{share}. Of the unlabelled rows of the fit, an estimated {forest.theta_:.1%} were new "
        f"(interval {low:.1%} to {high:.1%})."
    )


def _cards(forest: BaseLACForest, is_new: NDArray[np.bool_]) -> list[Card]:
    return [
        Card(f"{forest.theta_:.3f}", "theta, share of new rows"),
        Card(f"{int(is_new.sum()):,}", "rows called new"),
        Card(f"{len(is_new):,}", "rows in this report"),
        Card(f"{len(forest.known_classes_)}", "known classes"),
    ]


def _quality(forest: BaseLACForest, X: Any, y_true: Any) -> Section | None:
    if y_true is None:
        return None
    measures = augmented_scores(forest, X, y_true)
    rows = [
        (words, f"{measures[name]:.3f}")
        for name, words in _MEASURES.items()
        if name in measures and not np.isnan(measures[name])
    ]
    return Section("How good is it?", table=Table(("measure", "value"), rows))


def _pictures(
    forest: BaseLACForest, X: Any, y_true: Any, training: tuple[Any, Any, Any] | None
) -> Section:
    pictures: list[Picture] = [
        draw(
            lambda ax: NoveltyHistogramDisplay.from_estimator(forest, X, y_true, ax=ax),
            alt="Histogram of novelty scores",
            caption="How new the rows look. Two hills apart mean that new rows are easy to tell.",
        )
    ]
    if y_true is not None:
        pictures.append(
            draw(
                lambda ax: ConfusionDisplay.from_estimator(forest, X, y_true, ax=ax),
                alt="Confusion matrix with the new class",
                caption="Truth against prediction, the new class included.",
            )
        )
    # The curve compares the two kinds of rows.
    if y_true is not None and 0 < np.isin(y_true, forest.known_classes_).sum() < len(y_true):
        pictures.append(
            draw(
                lambda ax: OSCRDisplay.from_estimator(forest, X, y_true, ax=ax),
                alt="OSCR curve",
                caption="Known rows classified right against new rows taken for known, over all "
                "thresholds of the novelty score.",
            )
        )
    if isinstance(forest.theta_estimator_, ThetaEstimator):
        estimator = forest.theta_estimator_
        pictures.append(
            draw(
                lambda ax: RatioCurveDisplay.from_estimator(estimator, ax=ax),
                alt="Ratio curve of theta",
                caption="Where theta comes from: a long flat part says that it is well determined.",
            )
        )
    if training is not None and forest.theta_interval_ is not None:
        sensitivity = ThetaSensitivityDisplay.from_estimator(
            forest, *training, X_test=X, thetas=5, ax=_scrap_axes()
        )
        pictures.append(
            draw(
                sensitivity.plot,
                alt="Share of rows called new as a function of theta",
                caption="How many rows are called new as theta moves through its interval.",
            )
        )
    return Section("Pictures", pictures=pictures)


def _scrap_axes() -> Any:
    """Axes that nobody looks at: the numbers are drawn again in both inks."""
    import matplotlib.figure

    return matplotlib.figure.Figure().subplots()


def _checks(diagnosis: ThetaReport | None) -> Section | None:
    if diagnosis is None:
        return None
    findings = [(found.level, f"{found.topic}: {found.text}") for found in diagnosis.findings]
    return Section("Does the data support theta?", findings=findings)


def _importances(forest: BaseLACForest, feature_names: Sequence[str] | None) -> Section | None:
    values = new_versus_known_importances(forest)
    if not values.any():
        return None
    names = feature_names
    if names is None:
        names = getattr(forest, "feature_names_in_", None)
    labels = [f"x{i}" for i in range(len(values))] if names is None else list(map(str, names))
    order = np.argsort(-values, kind="stable")[:_MOST_FEATURES]
    picture = draw(
        lambda ax: _bars(ax, [labels[i] for i in order], values[order]),
        alt="Features that tell new from known: "
        + ", ".join(f"{labels[i]} {values[i]:.2f}" for i in order[:5]),
        caption='Which features say "new", in Step I.',
    )
    return Section("What tells new from known?", pictures=[picture])


def _bars(ax: Any, labels: list[str], values: NDArray[np.float64]) -> None:
    ax.barh(labels[::-1], values[::-1], color="tab:orange")
    ax.set_xlabel("importance")


def _newest(novelty: NDArray[np.float64], predicted: NDArray[Any]) -> Section:
    order = np.argsort(-novelty, kind="stable")[:_MOST_ROWS]
    rows = [(str(i + 1), f"{novelty[i]:.3f}", str(predicted[i])) for i in order]
    return Section(
        "The newest rows",
        text="Look at these first.",
        table=Table(("row", "novelty score", "prediction"), rows),
    )


def _facts(forest: BaseLACForest, facts: dict[str, str]) -> Section:
    known = ", ".join(map(str, forest.known_classes_[:20]))
    if len(forest.known_classes_) > 20:
        known += f" and {len(forest.known_classes_) - 20} more"
    rows = {
        "known classes": known,
        "label of new rows": str(forest.new_label_),
        "labelled rows": f"{forest.n_labeled_:g}",
        "unlabelled rows": str(len(forest.unlabeled_score_)),
        "features": str(forest.n_features_in_),
        "trees": str(len(forest.estimators_)),
        **facts,
    }
    return Section("Facts", table=Table((), list(rows.items())))
