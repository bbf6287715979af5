"""The methods that experiments compare, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lacforest import LACExtraTreesClassifier, LACForestClassifier
from lacforest.baselines import (
    AugmentedClassifier,
    EULACClassifier,
    EVMClassifier,
    GLACClassifier,
    LACUSVMClassifier,
    OSNNClassifier,
    OVRSVMClassifier,
    PACIsolationForestClassifier,
)
from lacforest.experiments._told import ToldForest
from lacforest.mixture import make_estimator

# factory(theta, random_state, n_jobs) -> estimator with fit(X, y, X_unlabeled=), predict and
# novelty_score. theta is the true share: only methods that say so in their name may use it.
Factory = Callable[[float, int, int | None], Any]

METHODS: dict[str, Factory] = {}
# Ours, and the mark that no method reaches: they have no row in the paper.
NOT_COMPARED = ("lacextratrees", "told")


def register_method(name: str, factory: Factory) -> None:
    """Make a method known to the experiments.

    Parameters
    ----------
    name : str
        Letters, digits and underscores; a variant of a method follows after a colon.
    factory : callable
        Takes the true theta, a seed and the number of threads, and returns an unfitted estimator
        with the contract of `LACForestClassifier`.
    """
    if name in METHODS:
        raise ValueError(f"a method named {name!r} is there already")
    METHODS[name] = factory


def compared_methods() -> list[str]:
    """Methods without variants and without our own: those of the paper's Table 1, in its order."""
    return [name for name in METHODS if ":" not in name and name not in NOT_COMPARED]


def make_method(name: str, theta: float, random_state: int, n_jobs: int | None) -> Any:
    """An unfitted estimator by name; `theta` is the true share."""
    if name not in METHODS:
        raise ValueError(f"there is no method {name!r}: choose among {', '.join(METHODS)}")
    return METHODS[name](theta, random_state, n_jobs)


def _forest(theta_of: Callable[[float], Any]) -> Factory:
    return lambda theta, random_state, n_jobs: LACForestClassifier(
        theta=theta_of(theta), random_state=random_state, n_jobs=n_jobs
    )


def _baseline(make: Callable[..., Any]) -> Factory:
    """Seeds and threads go to the methods that have a use for them."""

    def factory(theta: float, random_state: int, n_jobs: int | None) -> Any:
        model = make()
        given = {"random_state": random_state, "n_jobs": n_jobs}
        own = model.get_params(deep=False)
        return model.set_params(**{name: given[name] for name in given if name in own})

    return factory


def _extra_trees(**parameters: Any) -> Factory:
    return lambda theta, random_state, n_jobs: LACExtraTreesClassifier(
        random_state=random_state, n_jobs=n_jobs, **parameters
    )


register_method("lacforest", _forest(lambda _: "auto"))
register_method("lacforest:km2", _forest(lambda _: make_estimator("km2").set_params(n_bootstrap=0)))
register_method("lacforest:true_theta", _forest(lambda theta: theta))
# By themselves the compared methods have the settings that come closest to the paper's table, and
# under ":published" those of their authors. Theta is estimated in the same way for all.
_COMPARED: dict[str, type[AugmentedClassifier]] = {
    "glac": GLACClassifier,
    "eulac": EULACClassifier,
    "evm": EVMClassifier,
    "pac_iforest": PACIsolationForestClassifier,
    "osnn": OSNNClassifier,
    "lacu_svm": LACUSVMClassifier,
    "ovr_svm": OVRSVMClassifier,
}
for _name, _kind in _COMPARED.items():
    register_method(_name, _baseline(_kind.paper_table))
    if _kind.paper_table().get_params() != _kind().get_params():
        register_method(f"{_name}:published", _baseline(_kind))
register_method("lacextratrees", _extra_trees())
# The way from the paper's forest to ours, a change at a time; `ablation` prints it.
_variants: dict[str, dict[str, Any]] = {
    "fresh": {
        "n_estimators": 100,
        "refinement": "hard",
        "cuts": "every",
        "gamma": 0.01,
        "min_explored_leaf": 1,
        "max_explored_features": "sqrt",
    },
    "leaves": {
        "n_estimators": 100,
        "refinement": "hard",
        "cuts": "every",
        "max_explored_features": "sqrt",
    },
    "cuts": {"n_estimators": 100, "refinement": "hard", "max_explored_features": "sqrt"},
    "hard": {"n_estimators": 100, "refinement": "hard"},
    "sampled": {"n_estimators": 100, "refinement": "sampled"},
    "half": {"n_estimators": 100},
    "deepen": {"refinement": "deepen"},
}
for _variant, _parameters in _variants.items():
    register_method(f"lacextratrees:{_variant}", _extra_trees(**_parameters))
register_method("told", lambda theta, random_state, n_jobs: ToldForest(random_state, n_jobs))
