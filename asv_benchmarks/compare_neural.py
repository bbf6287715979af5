"""Compare the cost of the trees of the neural forest with other code, in one run.

Time a forward and backward pass of 3 trees of 6 layers on 1,024 rows with 390 features, a Python
loop over nodes that computes the same loss, and a training step of the three-layer CNN; then larger
numbers of trees and deeper trees. All times are processor time, the best of several alternating
runs, because machines are shared and noisy.

    python asv_benchmarks/compare_neural.py
    python asv_benchmarks/compare_neural.py --threads 1 --repeat 15
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from typing import Any

import torch

from benchmarks.neural import N_FEATURES, CNNStep, features, forest_step, loop_step
from lacforest.neural import NeuralForest


def best_times(steps: dict[Any, Callable[[], Any]], repeat: int) -> dict[Any, float]:
    """Return the processor seconds of the fastest run of each step; the steps alternate."""
    best = dict.fromkeys(steps, float("inf"))
    for _ in range(repeat):
        for name, step in steps.items():
            # Warm up, so that the time does not depend on the previous step.
            step()
            started = time.process_time()
            step()
            best[name] = min(best[name], time.process_time() - started)
    return best


def main() -> None:
    """Run the measurements and print the results."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--threads", type=int, default=torch.get_num_threads())
    parser.add_argument("--repeat", type=int, default=7)
    given = parser.parse_args()
    torch.set_num_threads(given.threads)

    rows, y = features()
    forest = NeuralForest(N_FEATURES)
    difference = abs(forest_step(forest, rows, y) - loop_step(forest, rows, y)).item()
    if difference > 1e-5:
        raise SystemExit(f"the loop computes a different loss (difference {difference:g})")
    cnn = CNNStep()
    times = best_times(
        {
            "trees": lambda: forest_step(forest, rows, y),
            "loop": lambda: loop_step(forest, rows, y),
            "cnn": cnn,
        },
        given.repeat,
    )
    print(f"{given.threads} thread(s), best of {given.repeat}, milliseconds of processor time")
    print(f"trees, forward and backward     {1e3 * times['trees']:8.1f}")
    print(f"loop over nodes, the same maths {1e3 * times['loop']:8.1f}")
    print(f"training step of the CNN        {1e3 * times['cnn']:8.1f}")
    print(f"loop / trees                    {times['loop'] / times['trees']:8.1f}")
    print(f"trees / step of the CNN         {times['trees'] / times['cnn']:8.1%}")

    sizes = [(n, depth) for depth in (6, 8) for n in (3, 6, 12, 24)]
    forests = {size: NeuralForest(N_FEATURES, *size) for size in sizes}
    steps = {
        size: (lambda model=model: forest_step(model, rows, y)) for size, model in forests.items()
    }
    grown = best_times(steps, given.repeat)
    print("\ntrees  layers  trees x leaves        ms  ms / 100 leaves")
    for (n_trees, depth), seconds in grown.items():
        leaves = n_trees * 2 ** (depth - 1)
        each = 1e5 * seconds / leaves
        print(f"{n_trees:5d}  {depth:6d}  {leaves:14d}  {1e3 * seconds:8.1f}  {each:15.2f}")


if __name__ == "__main__":
    main()
