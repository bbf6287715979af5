"""Variants of the short recipe of the neural forest, paired on the same images and seeds.

Six of ten classes are known and theta is told, except in the variants that get it wrong on purpose.
Differences are to the recipe itself; "se" is the standard error of a mean difference. Results are
kept, so that an interrupted run continues.

    python asv_benchmarks/compare_recipes.py --datasets mnist --choices 3 --data FOLDER
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from lacforest._utils.arguments import at_least, names
from lacforest.experiments._allocator import keep_freed_memory
from lacforest.experiments._deep import DeepExperiment, DeepJob, DeepOptions, Point
from lacforest.experiments._evaluation import evaluate
from lacforest.experiments._runner import ResultsFile, run_jobs
from lacforest.neural import DeepLACForestClassifier
from lacforest.neural.baselines import SoftmaxThresholdClassifier

RECIPE = "recipe"
EPOCHS = 6
# Epochs of cross entropy, taken off those of the forest.
PRETRAINING = 2
# Parameters of a variant, the error of the theta that it is told, and what needs code.
VARIANTS: dict[str, dict[str, Any]] = {
    RECIPE: {},
    "1 tree": {"n_estimators": 1},
    "9 trees": {"n_estimators": 9},
    "no leaf memory": {"leaf_memory": 0.0},
    "leaf memory .99": {"leaf_memory": 0.99},
    "batches of 32": {"batch_size": 32},
    "batches of 128": {"batch_size": 128},
    "trees at 3 x the rate": {"tree_rate": 3.0},
    "trees at .3 x the rate": {"tree_rate": 0.3},
    "weights averaged by .99": {"average": 0.99},
    "cross entropy first": {"pretrain": True},
    "theta too high by .05": {"theta_error": 0.05},
    "theta too low by .05": {"theta_error": -0.05},
    "theta too high by .1": {"theta_error": 0.1},
    "theta too low by .1": {"theta_error": -0.1},
}


def make_optimizer(parameters: Sequence[Any], rate: float, tree_rate: float) -> torch.optim.SGD:
    """The recipe's optimiser; trees follow their gradient times `tree_rate`."""
    if tree_rate != 1.0:
        for weights in parameters[-4:-2]:  # the head's come last
            weights.register_hook(lambda gradient: tree_rate * gradient)
    return torch.optim.SGD(parameters, lr=rate, momentum=0.9, weight_decay=5e-3, nesterov=True)


class AveragedWeights:
    """Running mean of the weights over steps, which replaces them after the last epoch.

    Parameters
    ----------
    factor : float
        Weight of the past.
    """

    def __init__(self, factor: float) -> None:
        self.factor = factor
        self.means: list[torch.Tensor] = []

    def make_optimizer(self, parameters: Sequence[Any], rate: float) -> torch.optim.SGD:
        """The recipe's optimiser, whose steps are watched."""
        made = make_optimizer(parameters, rate, 1.0)
        self.parameters = list(parameters)
        made.register_step_post_hook(lambda *_: self.update())
        return made

    def update(self) -> None:
        """Take a step into account."""
        now = [parameter.detach() for parameter in self.parameters]
        if not self.means:
            self.means = [value.clone() for value in now]
        for mean, value in zip(self.means, now, strict=True):
            mean.lerp_(value, 1.0 - self.factor)

    def at_end(self, end: Any) -> None:
        """Callback of the forest."""
        if end.epoch == end.epochs:
            with torch.no_grad():
                for parameter, mean in zip(self.parameters, self.means, strict=True):
                    parameter.copy_(mean)


def fit_variant(split: Any, seed: int, variant: dict[str, Any]) -> DeepLACForestClassifier:
    """A forest by the recipe with one change."""
    own = {"tree_rate", "average", "pretrain", "theta_error"}
    given = {name: value for name, value in variant.items() if name not in own}
    given |= {"epochs": EPOCHS, "random_state": seed, "device": "cpu", "known_shares": "labeled"}
    if "tree_rate" in variant:
        rate_of_trees = variant["tree_rate"]
        given["optimizer"] = lambda parameters, rate: make_optimizer(
            parameters, rate, rate_of_trees
        )
    if "average" in variant:
        averaged = AveragedWeights(variant["average"])
        given |= {"optimizer": averaged.make_optimizer, "callbacks": [averaged.at_end]}
    if "pretrain" in variant:
        first = SoftmaxThresholdClassifier(
            epochs=PRETRAINING, threshold=1.0, random_state=seed, device="cpu"
        ).fit(split.labeled, split.y_labeled)
        given |= {"encoder": first.module_.encoder, "epochs": EPOCHS - PRETRAINING}
    theta = split.theta + variant.get("theta_error", 0.0)
    forest = DeepLACForestClassifier.fast(theta=theta, **given)
    return forest.fit(split.labeled, split.y_labeled, X_unlabeled=split.unlabeled)


def print_table(found: dict[str, dict[str, Any]], datasets: list[str], variants: list[str]) -> None:
    """Means, and differences to the recipe on the same images."""
    print(f"{'dataset':9}{'variant':26}{'accuracy':>9}{'AUC':>8}{'difference':>12}{'se':>8}")
    for dataset in datasets:
        by_variant = {
            variant: [
                result
                for key, result in found.items()
                if key.startswith(f"{dataset}/") and key.endswith(f"/{variant}")
            ]
            for variant in variants
        }
        base = np.array([result["accuracy"] for result in by_variant[RECIPE]])
        for variant, results in by_variant.items():
            accuracy = np.array([result["accuracy"] for result in results])
            auc = np.mean([result["auc"] for result in results])
            gain = accuracy - base
            error = gain.std(ddof=1) / np.sqrt(len(gain)) if len(gain) > 1 else np.nan
            print(
                f"{dataset:9}{variant:26}{accuracy.mean():9.4f}{auc:8.4f}{gain.mean():+12.4f}"
                f"{error:8.4f}"
            )


def main() -> None:
    """Run the variants and print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    add = parser.add_argument
    add("--datasets", type=names, default="mnist", help="names, with commas")
    add("--variants", type=names, default=",".join(VARIANTS), help="with commas")
    add("--choices", type=at_least(1), default=3, help="random choices of known classes")
    add("--labeled", type=at_least(1), default=500, help="labelled images per known class")
    add("--unlabeled", type=at_least(1), default=200, help="unlabelled images per class")
    add("--test", type=at_least(1), default=300, help="test images per class")
    add("--data", metavar="FOLDER", help="folder with datasets")
    add("--results", type=Path, default=Path("lacforest-experiments", "recipes.jsonl"))
    given = parser.parse_args()
    torch.set_num_threads(1)
    keep_freed_memory()
    sizes = (given.labeled, given.unlabeled, given.test)
    variants = list(dict.fromkeys([RECIPE, *given.variants]))
    images = DeepExperiment(DeepOptions(given.datasets, sizes=sizes, folder=given.data))

    def run(job: tuple[str, int, str]) -> dict[str, Any]:
        dataset, choice, variant = job
        split, seed = images.draw(DeepJob(dataset, choice, Point()))
        started = time.process_time()
        forest = fit_variant(split, seed, VARIANTS[variant])
        seconds = time.process_time() - started
        return {**evaluate(forest, split.test, split.y_test, new_label=-1), "cpu_seconds": seconds}

    jobs = {
        f"{dataset}/{choice}/{variant}": (dataset, choice, variant)
        for dataset in given.datasets
        for choice in range(given.choices)
        for variant in variants
    }
    configuration = {"experiment": "recipes", "sizes": list(sizes), "epochs": EPOCHS}
    with ResultsFile(given.results, configuration) as file:
        found = run_jobs(jobs, run, file)
    print_table(found, given.datasets, variants)


if __name__ == "__main__":
    main()
