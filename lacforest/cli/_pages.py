"""The page that `lacforest report` and `lacforest fit --report` write."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Any

from numpy.typing import NDArray

from lacforest.cli._console import Console
from lacforest.cli._output import writing
from lacforest.mixture import RankMixture, ThetaReport, diagnose
from lacforest.tabular import TabularModel
from lacforest.tabular.places import Place

# Labelled rows in codes, their labels, and the unlabelled rows of a fit, if they are at hand.
Training = tuple[NDArray[Any], NDArray[Any], NDArray[Any] | None]


def write_page(
    console: Console,
    path: Path,
    model: TabularModel,
    X: Any,
    truth: NDArray[Any] | None,
    training: Training | None,
    model_name: str,
    places: list[Place],
) -> None:
    """Write the report about the coded rows X, which are those of the tables at `places`."""
    from lacforest.report import write_report

    with console.counting("drawing the report"), writing(path), warnings.catch_warnings():
        # The fit has told the user; a report of five more fits would tell it again.
        warnings.simplefilter("ignore")
        write_report(
            path,
            model.forest,
            X,
            truth,
            training=training,
            diagnosis=_diagnose(model, training),
            feature_names={
                name: model.coder.texts_of_codes.get(name) for name in model.coder.feature_names
            },
            title=f"What is new in {_short_name(places)}?",
            facts={"model": model_name, "table": _short_name(places)},
        )


def _diagnose(model: TabularModel, training: Training | None) -> ThetaReport | None:
    """Whether the data support theta, where the fit has just estimated it."""
    estimator = model.forest.theta_estimator_
    if training is None or training[2] is None or not isinstance(estimator, RankMixture):
        return None
    X, X_unlabeled = (model.coder.typed(table) for table in (training[0], training[2]))
    return diagnose(
        X,
        X_unlabeled,
        training[1],
        known_shares=model.forest.known_shares,
        estimator=estimator,
        random_state=model.forest.random_state,
        n_jobs=model.forest.n_jobs,
    )


def _short_name(places: list[Place]) -> str:
    """The name of the tables without folders."""
    first = places[0]
    name = first.path.name if first.name == str(first.path) else str(first)
    return name if len(places) == 1 else f"{name} and {len(places) - 1} more"
