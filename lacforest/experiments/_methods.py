"""The methods that experiments compare, by name."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from lacforest.baselines import (
    EULACClassifier,
    EVMClassifier,
    GLACClassifier,
    LACUSVMClassifier,
    OSNNClassifier,
    OVRSVMClassifier,
    PACIsolationForestClassifier,
)
from lacforest.ensemble.registry import FORESTS
from lacforest.experiments._discriminator import DiscriminatorForest
from lacforest.experiments._oracle import OracleForest
from lacforest.mixture import make_estimator

# factory(theta, random_state, n_jobs) -> estimator with fit(X, y, X_unlabeled=), predict and
# novelty_score. theta is the true share, which only "true_theta" and "oracle" may use.
Factory = Callable[[float, int, int | None], Any]

METHODS: dict[str, Factory] = {}
# Our own method, a recipe and the upper bound, which are not in the paper.
NOT_COMPARED = ("lacextratrees", "discriminator", "oracle")


def register_method(name: str, factory: Factory) -> None:
    """Add a method to the experiments.

    Parameters
    ----------
    name : str
        Letters, digits and underscores; the name of a variant follows after a colon.
    factory : callable
        Takes the true theta, a seed and the number of threads, and returns an unfitted estimator
        with the methods of `LACForestClassifier`.
    """
    if name in METHODS:
        raise ValueError(f"a method named {name!r} already exists")
    METHODS[name] = factory


def compared_methods() -> list[str]:
    """The methods of the paper's Table 1, in its order: without variants and our own methods."""
    return [name for name in METHODS if ":" not in name and name not in NOT_COMPARED]


def make_method(name: str, theta: float, random_state: int, n_jobs: int | None) -> Any:
    """An unfitted estimator by name; `theta` is the true share."""
    if name not in METHODS:
        raise ValueError(f"there is no method {name!r}: choose one of {', '.join(METHODS)}")
    return METHODS[name](theta, random_state, n_jobs)


def _forest(
    name: str, theta_of: Callable[[float], Any] = lambda _: "auto", **parameters: Any
) -> Factory:
    return lambda theta, random_state, n_jobs: FORESTS[name](
        theta=theta_of(theta), random_state=random_state, n_jobs=n_jobs, **parameters
    )


def _baseline(make: Callable[..., Any]) -> Factory:
    """Pass the seed and the threads only to methods with such parameters."""

    def factory(theta: float, random_state: int, n_jobs: int | None) -> Any:
        model = make()
        given = {"random_state": random_state, "n_jobs": n_jobs}
        own = model.get_params(deep=False)
        return model.set_params(**{name: given[name] for name in given if name in own})

    return factory


register_method("lacforest", _forest("lacforest"))
register_method(
    "lacforest:km2",
    _forest("lacforest", lambda _: make_estimator("km2").set_params(n_bootstrap=0)),
)
register_method("lacforest:capped", _forest("lacforest", pseudo_cap=1.0))
register_method("lacforest:labeled", _forest("lacforest", known_shares="labeled"))
register_method("lacforest:true_theta", _forest("lacforest", lambda theta: theta))
# The compared methods have the settings that come closest to the paper's table; variants
# ":published" have those of their authors. Theta is estimated in the same way for all.
_COMPARED: dict[str, Any] = {
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
register_method("lacextratrees", _forest("lacextratrees"))
register_method("lacextratrees:labeled", _forest("lacextratrees", known_shares="labeled"))
# From the paper's forest to ours, one change at a time; see `_ablation`.
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
    "uncapped": {"pseudo_cap": None},
}
for _variant, _parameters in _variants.items():
    register_method(f"lacextratrees:{_variant}", _forest("lacextratrees", **_parameters))
register_method(
    "discriminator", lambda theta, random_state, n_jobs: DiscriminatorForest(random_state, n_jobs)
)
register_method("oracle", lambda theta, random_state, n_jobs: OracleForest(random_state, n_jobs))
