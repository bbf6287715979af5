"""CPU time of known_shares="auto" against "labeled", at the paper's size and with one thread.

python asv_benchmarks/compare_shares.py
"""

from __future__ import annotations

import argparse
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np

from lacforest import LACExtraTreesClassifier, LACForestClassifier, datasets
from lacforest.experiments._shift import ShiftedSplit, make_shifted_split
from lacforest.mixture import RankMixture, ShareMixture

_THETA = 0.5


def _cpu_seconds(call: Callable[[], Any], repeat: int) -> float:
    """The least time of several calls, which other work disturbs least."""
    times = []
    for _ in range(repeat):
        started = time.process_time()
        call()
        times.append(time.process_time() - started)
    return min(times)


def _fit(make: Callable[..., Any], split: ShiftedSplit, **parameters: Any) -> Any:
    forest = make(random_state=0, n_jobs=1, **parameters)
    return forest.fit(split.X, split.y, X_unlabeled=split.X_unlabeled)


def _theta_ratio(split: ShiftedSplit, repeat: int) -> float:
    """Time of theta and shares by all trees, divided by that of theta alone."""
    by_rank = RankMixture(random_state=0, n_jobs=1)
    rank = _cpu_seconds(lambda: by_rank.fit(split.X, split.X_unlabeled), repeat)
    shares = ShareMixture(random_state=0, n_jobs=1, n_bootstrap=0)
    test = _cpu_seconds(lambda: shares.fit(split.X, split.y, split.X_unlabeled), repeat)
    if not shares.has_shifted_:
        return (test + rank) / rank
    # Intervals are computed only where shares have moved, and RankMixture is not needed then.
    shares.set_params(n_bootstrap=50)
    return _cpu_seconds(lambda: shares.fit(split.X, split.y, split.X_unlabeled), repeat) / rank


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--datasets", default="segment,optdigits,letter", help="names, with commas")
    parser.add_argument("--repeat", type=int, default=3, help="fits, of which the fastest counts")
    given = parser.parse_args()
    warnings.simplefilter("ignore")
    print(
        f"{'table':<12}{'shift':<13}{'method':<25}{'labeled':>8}{'auto':>8}{'fit':>6}{'theta':>7}"
    )
    for name in given.datasets.split(","):
        table = datasets.load(name)
        for shift in ("none", "dirichlet 1"):
            rng = np.random.default_rng(1)
            split = make_shifted_split(table.data, table.target, _THETA, shift, rng)
            ratio = _theta_ratio(split, given.repeat)
            for make in (LACForestClassifier, LACExtraTreesClassifier):
                labeled, auto = (
                    _cpu_seconds(
                        lambda make=make, split=split, shares=shares: _fit(
                            make, split, known_shares=shares
                        ),
                        given.repeat,
                    )
                    for shares in ("labeled", "auto")
                )
                print(
                    f"{name:<12}{shift:<13}{make.__name__:<25}{labeled:>8.3f}{auto:>8.3f}"
                    f"{auto / labeled:>6.2f}{ratio:>7.2f}"
                )


if __name__ == "__main__":
    main()
