"""The content of a report about a fitted forest and some rows."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.validation import check_is_fitted

from lacforest._utils.version import __version__
from lacforest.ensemble.base import BaseLACForest
from lacforest.inspection import column_shift
from lacforest.metrics import augmented_scores
from lacforest.mixture import ThetaReport
from lacforest.report._html import Card, Page, Section, Table, write_page
from lacforest.report._plots import pictures_section
from lacforest.report._rows import groups_section, newest_section, next_section

_MOST_FEATURES = 12
_MOST_CLASSES = 20
# Texts of the codes of columns that are true or false.
_BOOLEAN = ("false", "true")
_MEASURES = {
    "accuracy": "rows with the right label, new or known",
    "known_accuracy": "known rows with the right label",
    "new_recall": "new rows that were called new",
    "new_precision": "rows called new that are new",
    "new_auc": "pairs in which the new row scores higher than the known one (AUC)",
    "macro_f1": "balance of found and right, averaged over classes (macro-F1)",
    "oscr": "the same pairs, known row with the right class (OSCR)",
}
_OWN_ROWS = " These rows took part in the fit: they look more clearly known or new than later rows."
# What the checks ask, by their topics.
_QUESTIONS = {
    "something new": "Is anything new?",
    "something known": "Is anything known?",
    "identifiable": "Can new rows be told from known ones?",
    "agreement": "Do two ways to estimate theta agree?",
    "fit": "Do the tables agree on what is known?",
    "class shares": "Are known classes as frequent as labelled?",
    "look-alikes": "Are known classes told apart?",
    "drift": "Have known classes changed?",
    "control": "Do known rows of deployment look as labelled?",
}


def write_report(
    path: str | os.PathLike[str],
    forest: BaseLACForest,
    X: Any,
    y_true: Any = None,
    *,
    training: tuple[Any, Any, Any] | None = None,
    diagnosis: ThetaReport | None = None,
    feature_names: Sequence[str] | Mapping[str, Sequence[str] | None] | None = None,
    title: str = "What is new?",
    facts: dict[str, str] | None = None,
) -> None:
    """Write one HTML file about the predictions of a forest: measures, checks and plots.

    The file needs no network access and no other file.

    Parameters
    ----------
    path : path
        The file to write. It is written under a temporary name and then renamed.
    forest : LACForestClassifier or LACExtraTreesClassifier
        Fitted with unlabelled rows.
    X : array-like or frame of shape (n_rows, n_features)
        Rows to report on. If the index of a frame has names, it is shown beside the rows that look
        newest: ``frame.set_index("id")``.
    y_true : array-like of shape (n_rows,), optional
        True labels, for the measures of quality. Labels outside of the known classes count as new.
    training : tuple of X, y and X_unlabeled, optional
        The training data. With the labelled rows, the report shows which groups the rows called new
        form. With the unlabelled ones, which may be None, it also shows how predictions change as
        theta varies over its interval, which takes five more fits.
    diagnosis : ThetaReport, optional
        From `lacforest.mixture.diagnose`.
    feature_names : list of str or dict of str to (list of str or None), optional
        By default those of the fit, if there were any. A dict also names the texts that the codes
        0, 1, 2 and so on of a column stand for.
    title : str, default="What is new?"
    facts : dict of str to str, optional
        Additional rows for the table of facts.
    """
    check_is_fitted(forest)
    if forest.new_class_index_ is None:
        raise ValueError(
            "this forest was fitted without unlabelled rows and has no new class: there is nothing "
            "to report"
        )
    codes: dict[str, Sequence[str]] = {}
    if isinstance(feature_names, Mapping):
        codes = {name: texts for name, texts in feature_names.items() if texts is not None}
        feature_names = list(feature_names)
    predicted = forest.predict(X)
    is_new = predicted == forest.new_label_
    took_part = training is not None and training[2] is X
    sections = [
        _checks(forest, diagnosis),
        _quality(forest, X, y_true),
        pictures_section(forest, X, y_true, training, feature_names),
        _shares(forest),
        groups_section(forest, X, is_new, training, feature_names, codes),
        newest_section(forest, X, predicted, took_part, feature_names, codes),
        _shift(forest, feature_names, codes),
        next_section(is_new, training),
        _facts(forest, facts or {}),
    ]
    page = Page(
        title=title,
        lead=_lead(forest, is_new) + (_OWN_ROWS if took_part else ""),
        cards=_cards(forest, is_new),
        sections=[section for section in sections if section is not None],
        foot=f"Made by lacforest {__version__}.",
    )
    write_page(page, path)


def _lead(forest: BaseLACForest, is_new: NDArray[np.bool_]) -> str:
    share = f"{is_new.mean():.1%} of {len(is_new):,} rows are called new"
    if forest.theta_interval_ is None:
        return f"{share}; theta was given as {forest.theta_:.3f}."
    low, high = forest.theta_interval_
    return (
        f"{share}. An estimated {forest.theta_:.1%} of the unlabelled rows of the fit were new "
        f"(interval {low:.1%} to {high:.1%})."
    )


def _shares(forest: BaseLACForest) -> Section | None:
    """Shares of the known classes in deployment, the largest first."""
    shares, ends = forest.known_shares_, forest.known_shares_interval_
    if shares is None:
        return None
    order = np.argsort(-shares, kind="stable")[:_MOST_CLASSES]
    names, rows = ["class", "share"], []
    for k in order:
        rows.append([str(forest.known_classes_[k]), f"{shares[k]:.1%}"])
    text = "Shares of the known classes among the known unlabelled rows of the fit."
    if ends is not None:
        text += " They were estimated, because they differ from those of the labelled rows."
        names.append("interval")
        for row, (low, high) in zip(rows, ends[order], strict=True):
            row.append(f"{low:.1%} to {high:.1%}")
    table = Table(tuple(names), rows)
    return Section("How frequent are known classes?", text, table=table)


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
    return Section(
        "How good is it?",
        text="By the true labels; 1 is the best value of every measure.",
        table=Table(("measure", "value"), rows),
    )


def _checks(forest: BaseLACForest, diagnosis: ThetaReport | None) -> Section | None:
    """The findings of a diagnosis, and those of the fit on other topics."""
    findings = () if diagnosis is None else diagnosis.findings
    topics = {found.topic for found in findings}
    findings += tuple(found for found in forest.fit_findings_ if found.topic not in topics)
    if not findings:
        return None
    told = [
        (found.level, f"{_QUESTIONS.get(found.topic, found.topic)} {_as_sentence(found.text)}")
        for found in findings
    ]
    return Section(
        "How much is new, and can I believe it?",
        text="Theta (θ) is the share of new rows among the unlabelled ones. What its estimate "
        "assumes was checked; a small p means that chance is an unlikely explanation.",
        findings=told,
    )


def _as_sentence(text: str) -> str:
    return text[:1].upper() + text[1:]


def _shift(
    forest: BaseLACForest, feature_names: Sequence[str] | None, codes: Mapping[str, Sequence[str]]
) -> Section | None:
    if forest.column_shift_ is None:
        return None
    shifts = column_shift(forest, feature_names)[:_MOST_FEATURES]
    text = (
        "The chance that an unlabelled row has a larger value than a labelled one: 0.50 means "
        "no shift. Rows taken for known should be close to 0.50."
    )
    if any(shift.is_categorical for shift in shifts):
        text += (
            " In columns of categories, the share of rows by which some categories are clearly "
            "more frequent: 0% means no shift."
        )
    if any(codes.get(s.name, _BOOLEAN) != _BOOLEAN and not s.is_categorical for s in shifts):
        text += " Texts that the model takes as numbers are larger if later in the alphabet."
    return Section(
        "Which columns differ between labelled and unlabelled rows?",
        text=text,
        table=Table(
            ("column", "all unlabelled rows", "rows taken for known"),
            [(shift.name, *shift.cells) for shift in shifts],
        ),
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
