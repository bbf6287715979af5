"""Intact model files of every kind, from which mutants are made."""

from dataclasses import dataclass

import numpy as np
import pandas as pd
from container_files import take_apart
from two_blobs import U, X, fitted_forest, small_forest, y

from lacforest import LACExtraTreesClassifier
from lacforest._model.forest_files import save_forest
from lacforest.discovery import NewClassGroups
from lacforest.tabular import TabularModel

_KINDS = np.array(["ham", "spam"])
_CODING = {
    "version": 1,
    "categories": "ordinal",
    "columns": [
        {"name": "x", "kind": "number"},
        {"name": "y", "kind": "boolean"},
        {"name": "z", "kind": "text", "categories": ["p", "q"]},
    ],
    "dropped": {"id": "it holds a different value in every row"},
    "missing": ["", "NA"],
}
_ATTACHMENT = {"table": _CODING, "target": "kind", "lacforest": "0.1.0"}


@dataclass(frozen=True)
class Seed:
    """An intact file, whole and taken apart."""

    content: bytes
    header: dict
    arrays: dict


def seeds(folder):
    """One intact file of every kind: labels, names, weights, attachments, deflated or not.

    The extra trees have two forests in a file; one forest is adapted to a batch, two have sets of
    categories, and one comes with a table's coding, a calibration and groups of new rows.
    """
    made = []
    for number, forest in enumerate(_forests()):
        path = folder / f"seed-{number}.lac"
        for compress in (False, True):
            save_forest(forest, path, compress, _ATTACHMENT if number % 2 else None)
            made.append(Seed(path.read_bytes(), *take_apart(path)))
    # There is most to change in the last one.
    return [*made, *3 * [_model_in_use(folder / "model.lac")]]


def _forests():
    weight = np.random.default_rng(1).random(len(y)) + 0.5
    named = small_forest(n_estimators=2, max_depth=3, max_features=2, random_state=None)
    named.feature_names_in_ = np.array(["a", "b", "c"], dtype=object)
    named.fit(X, _KINDS[y], X_unlabeled=U)
    named.feature_names_in_ = np.array(["a", "b", "c"], dtype=object)
    extra = LACExtraTreesClassifier(n_estimators=2, max_depth=2, theta=0.5, random_state=0)
    categories = {"n_estimators": 2, "max_depth": 3, "theta": 0.5, "random_state": 0}
    return [
        fitted_forest(n_estimators=2, max_depth=3),
        fitted_forest(n_estimators=1, max_depth=1, new_label=-5, n_jobs=1, verbose=0),
        small_forest(n_estimators=2, max_depth=2).fit(X, y),
        small_forest(n_estimators=2, max_depth=3, class_weight={0: 1.0, 1: 2.5}).fit(
            X, y, sample_weight=weight, X_unlabeled=U
        ),
        named,
        extra.fit(X, y, X_unlabeled=U),
        fitted_forest(n_estimators=2, max_depth=2).adapt(U[30:]),
        small_forest(categorical_features=[0, 2], **categories).fit(
            _coded(X), y, X_unlabeled=_coded(U)
        ),
        LACExtraTreesClassifier(**categories)
        .fit(_in_words(X), y, X_unlabeled=_in_words(U))
        .adapt(_in_words(U[30:])),
    ]


def _coded(table):
    """The first column in about ten categories and the last in some seventy, more than one word."""
    coded = table.copy()
    coded[:, 0] = np.floor(table[:, 0]) + 9
    coded[:, 2] = np.floor(8 * table[:, 2]) + 99
    return coded


def _in_words(table):
    """The same columns as text, in a frame that declares them as categories."""
    frame = pd.DataFrame(_coded(table), columns=["a", "b", "c"])
    return frame.assign(**{name: frame[name].astype(str).astype("category") for name in "ac"})


def _model_in_use(path):
    """The file of a model that was calibrated, whose new rows were grouped, and one group named."""
    labelled, deployed = (
        pd.DataFrame({"x": rows[:, 0], "y": rows[:, 1] > 3, "z": _words(rows[:, 2])})
        for rows in (X, U)
    )
    model = TabularModel(small_forest(n_estimators=2, max_depth=3), calibration_size=0.3)
    model.fit(labelled.assign(kind=_KINDS[y]), "kind", deployed)
    rows = model.coder.encode(deployed)
    known = model.coder.encode(labelled)
    groups = NewClassGroups(2).fit(rows[40:], X_labeled=known, y_labeled=_KINDS[y])
    groups.promote({"new-1": "egg"}, [int(groups.medoids_[0])])
    model.groups = groups
    model.save(path)
    return Seed(path.read_bytes(), *take_apart(path))


def _words(column):
    return np.array(["p", "q", "r"])[np.digitize(column, [-0.5, 0.5])]
