"""Run the same fits under two interpreters; exit 1 unless all results are equal bit for bit.

Each interpreter has its own build of lacforest, for instance that of the commit before a change of
the compiled core and that of the commit after it:

    python tools/compare_bits.py old/.venv/bin/python new/.venv/bin/python

Nothing is built here. Only the public interface is used, so that private names may differ.
"""

from __future__ import annotations

import argparse
import hashlib
import json
import subprocess
import sys
import warnings
from collections.abc import Callable
from typing import Any

TREE_ARRAYS = (
    "children_left",
    "children_right",
    "feature",
    "threshold",
    "missing_go_to_left",
    "value",
    "impurity",
    "n_labeled",
    "n_unlabeled",
    "weighted_n_node_samples",
)
FITTED = ("feature_importances_", "unlabeled_score_", "pseudo_labels_", "theta_", "theta_interval_")


def make_table(n_rows: int, n_features: int, n_known: int, n_distinct: int = 0) -> Any:
    """Labelled rows, their labels and unlabelled rows, half of which belong to unseen classes.

    n_distinct > 0 rounds the values of a column to about that many distinct ones.
    """
    import numpy as np

    rng = np.random.default_rng(n_rows + n_features)
    centres = 2.0 * rng.normal(size=(2 * n_known, n_features))
    label = rng.integers(0, 2 * n_known, n_rows)
    label[: 2 * n_known] = np.arange(2 * n_known)
    X = centres[label] + rng.normal(size=(n_rows, n_features))
    if n_distinct:
        X = np.rint(X / np.ptp(X) * n_distinct)
    is_labeled = (label < n_known) & (rng.random(n_rows) < 0.6)
    return X[is_labeled], label[is_labeled], X[~is_labeled]


def with_missing(table: Any, share: float = 0.1) -> Any:
    """The table with a share of its cells missing; one column more often in unlabelled rows."""
    import numpy as np

    X, y, U = table
    rng = np.random.default_rng(len(X))
    X, U = X.copy(), U.copy()
    X[rng.random(X.shape) < share] = np.nan
    U[rng.random(U.shape) < share] = np.nan
    U[rng.random(len(U)) < 0.4, 0] = np.nan
    return X, y, U


def configurations() -> dict[str, Callable[[], tuple[Any, dict[str, Any]]]]:
    """By name, a call that returns an unfitted forest and the arguments of its fit."""
    import numpy as np
    from scipy import sparse

    from lacforest import LACExtraTreesClassifier, LACForestClassifier
    from lacforest.mixture import BestBin

    plain = make_table(600, 8, 3)
    coarse = make_table(700, 12, 4, n_distinct=15)
    gaps = with_missing(plain)
    coarse_gaps = with_missing(coarse)
    many_classes = make_table(900, 6, 20)
    tall = make_table(70_000, 2, 2)

    def weights(table: Any, whole: bool) -> Any:
        rng = np.random.default_rng(7)
        n_rows = len(table[1])
        return rng.integers(0, 4, n_rows) if whole else rng.exponential(size=n_rows)

    def paper(table: Any, weight: Any = None, **parameters: Any) -> Any:
        parameters = {"n_estimators": 20, "theta": 0.4, "random_state": 3} | parameters
        return lambda: (LACForestClassifier(**parameters), arguments(table, weight))

    def extra(table: Any, weight: Any = None, **parameters: Any) -> Any:
        parameters = {
            "n_estimators": 24,
            "n_explorers": 12,
            "theta": 0.4,
            "random_state": 3,
        } | parameters
        return lambda: (LACExtraTreesClassifier(**parameters), arguments(table, weight))

    def arguments(table: Any, weight: Any) -> dict[str, Any]:
        X, y, U = table
        return {"X": X, "y": y, "X_unlabeled": U, "sample_weight": weight}

    def sparsely(table: Any) -> Any:
        X, y, U = (np.where(np.abs(a) < 3, 0, a) if a.ndim == 2 else a for a in table)
        return sparse.csr_matrix(X), y, sparse.csr_matrix(U)

    def singly(table: Any) -> Any:
        X, y, U = table
        return X.astype(np.float32), y, U.astype(np.float32)

    whole, real = weights(plain, True), weights(plain, False)
    found = {
        "forest": paper(plain),
        "forest, float32": paper(singly(plain)),
        "forest, two threads": paper(plain, n_jobs=2),
        "forest, few distinct values": paper(coarse),
        "forest, 20 classes": paper(many_classes),
        "forest, 70,000 rows": paper(tall, n_estimators=2),
        "forest, missing": paper(gaps),
        "forest, few distinct values, missing": paper(coarse_gaps),
        "forest, whole weights": paper(plain, whole),
        "forest, real weights": paper(plain, real),
        "forest, real weights, missing": paper(gaps, real),
        "forest, real weights, few distinct values": paper(coarse, weights(coarse, False)),
        "forest, class_weight": paper(plain, class_weight="balanced"),
        "forest, class_weight and weights": paper(plain, whole, class_weight={0: 2.5, 1: 1.0}),
        "forest, bootstrap": paper(plain, bootstrap=True),
        "forest, bootstrap, missing, weights": paper(gaps, real, bootstrap=True),
        "forest, sparse": paper(sparsely(plain)),
        "forest, limits": paper(
            plain, max_depth=6, min_samples_leaf=3, min_samples_split=9, max_features=None
        ),
        "forest, gamma 0": paper(gaps, gamma=0.0),
        "forest, theta auto": paper(plain, theta="auto"),
        "forest, theta auto, missing": paper(gaps, theta="auto"),
        "forest, theta by BestBin": paper(coarse, theta=BestBin(n_bootstrap=20, random_state=0)),
        "forest, no unlabelled rows": paper((*gaps[:2], None)),
        "extra trees, cuts every": extra(plain, cuts="every"),
        "extra trees, cuts every, missing, weights": extra(gaps, real, cuts="every"),
        "extra trees, gamma": extra(coarse, gamma=0.02, min_explored_leaf=5),
        "extra trees, sparse": extra(sparsely(plain)),
        "extra trees, class_weight": extra(plain, class_weight="balanced"),
        "extra trees, 20 classes": extra(many_classes),
        "extra trees, theta auto": extra(coarse_gaps, theta="auto"),
        "extra trees, no unlabelled rows": extra((*gaps[:2], None)),
    }
    for refinement in ("both", "hard", "sampled", "deepen"):
        name = f"extra trees, {refinement}"
        found[name] = extra(plain, refinement=refinement)
        found[f"{name}, missing"] = extra(gaps, refinement=refinement)
        found[f"{name}, few distinct values"] = extra(coarse, refinement=refinement)
        found[f"{name}, real weights"] = extra(plain, real, refinement=refinement)
        found[f"{name}, whole weights, cuts every"] = extra(
            plain, whole, refinement=refinement, cuts="every"
        )
    return found


def digest(value: Any) -> str:
    """Hash of type, shape and bytes."""
    import numpy as np

    array = np.ascontiguousarray(value)
    if array.dtype == object:
        return repr(value)
    head = f"{array.dtype.str}{array.shape}".encode()
    return hashlib.sha256(head + array.tobytes()).hexdigest()


def results(forest: Any, given: dict[str, Any]) -> dict[str, str]:
    """Digest of everything that a fitted forest tells, by name."""
    import numpy as np

    found = {name: digest(getattr(forest, name)) for name in FITTED}
    rows = given["X"] if given["X_unlabeled"] is None else given["X_unlabeled"]
    tables = {"": rows, ", one row": rows[:1]}
    if isinstance(rows, np.ndarray):
        tables[", by columns"] = np.asfortranarray(rows)
        tables[", float32"] = rows.astype(np.float32)
    for kind, table in tables.items():
        found[f"predict_proba{kind}"] = digest(forest.predict_proba(table))
        found[f"apply{kind}"] = digest(forest.apply(table))
        if given["X_unlabeled"] is not None:
            found[f"novelty_score{kind}"] = digest(forest.novelty_score(table))
            found[f"score of Step I{kind}"] = digest(forest.novelty_score(table, "exploration"))
    for name in TREE_ARRAYS:
        arrays = [getattr(tree, name) for tree in forest.estimators_]
        found[f"{name} of trees"] = digest(np.concatenate(arrays))
    return found


def fit_all() -> dict[str, dict[str, str]]:
    """Digests of all configurations under this interpreter."""
    digests = {}
    for name, make in configurations().items():
        forest, given = make()
        # What builds without these parameters do.
        of_old = {"known_shares": "labeled", "pseudo_cap": None}
        forest.set_params(**{k: v for k, v in of_old.items() if k in forest.get_params()})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            digests[name] = results(forest.fit(**given), given)
    return digests


def run(interpreter: str) -> dict[str, dict[str, str]]:
    """What `fit_all` gives under another interpreter."""
    command = [interpreter, __file__, "--only-print"]
    done = subprocess.run(command, stdout=subprocess.PIPE, text=True, check=True)
    digests: dict[str, dict[str, str]] = json.loads(done.stdout)
    return digests


def main() -> int:
    """Compare, and print each difference."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("interpreters", nargs="*", metavar="python", help="two interpreters")
    parser.add_argument("--only-print", action="store_true", help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.only_print:
        print(json.dumps(fit_all()))
        return 0
    if len(options.interpreters) != 2:
        parser.error("name two interpreters")
    before, after = map(run, options.interpreters)
    differences = [
        f"{name}: {quantity}"
        for name in sorted(before.keys() | after.keys())
        for quantity in sorted(before.get(name, {}).keys() | after.get(name, {}).keys())
        if before.get(name, {}).get(quantity) != after.get(name, {}).get(quantity)
    ]
    for difference in differences:
        print(f"DIFFERS  {difference}")
    n_compared = sum(map(len, before.values()))
    print(f"{len(before)} configurations, {n_compared} digests, {len(differences)} differ")
    return int(bool(differences))


if __name__ == "__main__":
    sys.exit(main())
