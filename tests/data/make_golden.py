"""Write forest-v7.lac and its predictions. Run once per format version, never to fix a test.

    python tests/data/make_golden.py

The files next to this script must not change as long as lacforest reads their format version: they
represent all models that users have saved. Earlier versions of this script wrote forest-v1 with
``theta=0.5`` and forest-v2 with LACForestClassifier; from version 3 on, a file may contain two
forests, and from version 4 on shares of known classes and findings of the fit. Version 7 has packed
nodes; the scripts beside this one wrote versions 5 and 6.
"""

import json
from pathlib import Path

import numpy as np

from lacforest import LACExtraTreesClassifier
from lacforest.mixture import RankMixture, ThetaEstimator

HERE = Path(__file__).parent


def make_forest(replace=lambda X, first: X, **parameters):
    """`replace` may change the labelled rows of each class (0, 1) and the new rows (2)."""
    rng = np.random.default_rng(2025)
    X = np.vstack([rng.normal(size=(20, 3)), np.array([3, 0, 0]) + rng.normal(size=(20, 3))])
    deployed = np.vstack([X[::2], np.array([1.5, 4, 0]) + rng.normal(size=(20, 3))])
    deployed[::6, 2] = np.nan
    X = np.vstack([replace(X[:20], 0), replace(X[20:], 1)])
    deployed = np.vstack(
        [replace(deployed[:10], 0), replace(deployed[10:20], 1), replace(deployed[20:], 2)]
    )
    forest = LACExtraTreesClassifier(
        n_estimators=3,
        theta=RankMixture(level=0.8, n_bootstrap=20),
        n_explorers=2,
        class_weight={"cat": 1.5},
        new_label="neither",
        random_state=7,
        **parameters,
    )
    return forest.fit(X, np.repeat(["cat", "dog"], 20), X_unlabeled=deployed)


def make_queries():
    queries = np.random.default_rng(1).normal(size=(25, 3)) * 2 + [1.5, 2, 0]
    queries[::4, 0] = queries[::5, 2] = np.nan
    return queries


def plain_parameters(forest):
    """Parameters as JSON; an estimator of theta as its name and parameters."""
    parameters = forest.get_params(deep=False)
    if isinstance(parameters["theta"], ThetaEstimator):
        name = type(parameters["theta"]).__name__
        parameters["theta"] = {name: parameters["theta"].get_params()}
    return parameters


def write_golden(forest, queries, version):
    forest.save(HERE / f"forest-v{version}.lac")
    facts = {
        "queries": [
            [None if value != value else value for value in row] for row in queries.tolist()
        ],
        "classes": forest.classes_.tolist(),
        "predict": forest.predict(queries).tolist(),
        "predict_proba": forest.predict_proba(queries).tolist(),
        "exploration": forest.novelty_score(queries, stage="exploration").tolist(),
        "apply": forest.apply(queries).tolist(),
        "pseudo_labels": forest.pseudo_labels_.tolist(),
        "unlabeled_score": forest.unlabeled_score_.tolist(),
        "feature_importances": forest.feature_importances_.tolist(),
        "theta": forest.theta_,
        "theta_interval": forest.theta_interval_,
        "parameters": plain_parameters(forest),
    }
    # `parameters` contains dicts and None, and only values that JSON supports.
    (HERE / f"forest-v{version}.json").write_text(json.dumps(facts, indent=1) + "\n")


if __name__ == "__main__":
    write_golden(make_forest(), make_queries(), 7)
