"""The parts of a fit, timed separately."""

from __future__ import annotations

from dataclasses import replace

from benchmarks import common
from lacforest._coding.coded_table import code_table
from lacforest._growing.plan import ForestSeeds, TreePlan, TreeShape, draw_entropy
from lacforest._growing.run import Grower
from lacforest._growing.steps import deepen, explore, label
from lacforest._input.training_data import check_training_rows
from lacforest._tree.criterion import AugmentedGiniCriterion, GiniCriterion


def prepare(forest, rows, theta):
    """Return a grower and the plans of both steps, as the estimator creates them."""
    seeds = ForestSeeds.of_deepened_trees(draw_entropy(0), forest.n_estimators, False)
    shape = TreeShape.of(forest, rows.table.n_features)
    criterion = AugmentedGiniCriterion(theta, rows.labeled_total, rows.n_unlabeled)
    exploring = replace(shape, gamma=forest.gamma, draws_on=False)
    return (
        Grower(rows, code_table(rows.table, 1), 1),
        TreePlan(criterion, exploring, seeds.explore),
        TreePlan(GiniCriterion(), shape, seeds.refine),
    )


class Steps:
    """Coding, Step I including the scores, and Step II, for 20 trees."""

    params = common.TABLES
    param_names = ("table",)
    timeout = 300

    def setup(self, name):
        data = common.table(name)
        forest = common.forest(data, n_estimators=20)
        self.rows, _ = check_training_rows(forest, data.X, data.y, None, data.X_unlabeled)
        self.grower, self.explore_plan, refine_plan = prepare(forest, self.rows, data.theta)
        self.explored = explore(self.grower, self.explore_plan)
        self.refine_plan = refine_plan
        self.pseudo = label(self.grower, self.explored, 1.0, data.theta, None)

    def time_coding(self, name):
        code_table(self.rows.table, 1)

    def time_step_one(self, name):
        explore(self.grower, self.explore_plan)

    def time_step_two(self, name):
        deepen(self.grower, self.refine_plan, self.explored, self.pseudo)


class Split:
    """The split search at one node, as 100 trees of one split each."""

    params = ([64, 512, 4_096, 32_768], [2, 32, 1_000_000])
    param_names = ("n_rows", "n_distinct")

    def setup(self, n_rows, n_distinct):
        import numpy as np

        rng = np.random.default_rng(0)
        X = rng.integers(n_distinct, size=(n_rows, 16)).astype(np.float32)
        y = rng.integers(5, size=n_rows // 2)
        forest = common.LACForestClassifier(max_depth=1, max_features=4, gamma=0.0, random_state=0)
        rows, _ = check_training_rows(forest, X[: len(y)], y, None, X[len(y) :])
        self.grower, self.plan, _ = prepare(forest, rows, 0.5)

    def time_search(self, n_rows, n_distinct):
        self.grower.grow(self.plan)
