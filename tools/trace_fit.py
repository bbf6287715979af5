"""Print the files of the package that one fit visits, in the order of their first visit.

A visit is a run of calls into one file. ``python tools/trace_fit.py`` traces LACForestClassifier
on a toy, with theta and the shares of classes as the paper has them; ``--estimate`` and
``--extra-trees`` trace the other ways. Helpers of ``_utils`` are left out.
"""

from __future__ import annotations

import argparse
import sys
from pathlib import Path
from types import FrameType
from typing import Any

import numpy as np

import lacforest

_ROOT = Path(lacforest.__file__).parent


def visits(call: Any) -> list[str]:
    """Files of the package in the order of calls into them, without immediate repeats."""
    seen: list[str] = []

    def watch(frame: FrameType, event: str, argument: Any) -> None:
        path = Path(frame.f_code.co_filename)
        if event == "call" and path.is_relative_to(_ROOT):
            name = path.relative_to(_ROOT).as_posix()
            if not name.startswith("_utils/") and (not seen or seen[-1] != name):
                seen.append(name)

    sys.setprofile(watch)
    try:
        call()
    finally:
        sys.setprofile(None)
    return seen


def trace_fit(forest: Any) -> list[str]:
    """Visits of one fit on a toy of three groups, one of them new."""
    rng = np.random.default_rng(0)
    X = np.repeat([[0.0, 0.0], [4.0, 0.0]], 50, axis=0) + rng.normal(size=(100, 2))
    y = np.repeat(["a", "b"], 50)
    X_unlabeled = np.vstack([X, np.array([2.0, 6.0]) + rng.normal(size=(100, 2))])
    return visits(lambda: forest.fit(X, y, X_unlabeled=X_unlabeled))


def main() -> None:
    """Trace and print."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--estimate", action="store_true", help="let the fit find theta and shares")
    parser.add_argument("--extra-trees", action="store_true", help="trace the other forest")
    given = parser.parse_args()
    forests = lacforest.LACForestClassifier, lacforest.LACExtraTreesClassifier
    forest = forests[given.extra_trees](10, random_state=0)
    if not given.estimate:
        forest.set_params(theta=0.5, known_shares="labeled")
    trace = trace_fit(forest)
    for number, name in enumerate(dict.fromkeys(trace), start=1):
        print(f"{number:3} {name:<32} {trace.count(name)} visit(s)")


if __name__ == "__main__":
    main()
