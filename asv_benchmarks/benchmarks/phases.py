"""Each step of a fit on its own."""

from __future__ import annotations

from benchmarks import common
from lacforest._coding import code_columns
from lacforest._grow import TreePlan
from lacforest._grow_lacforest import LACForestGrower
from lacforest._pseudo import pseudo_labels
from lacforest._tree._criterion import AugmentedGiniCriterion
from lacforest._validation import check_training_rows


class Steps:
    """Coding, Step I, scores and Step II of 20 trees."""

    params = common.TABLES
    param_names = ("table",)
    timeout = 300

    def setup(self, name):
        data = common.table(name)
        forest = common.forest(data, n_estimators=20)
        self.rows, _ = check_training_rows(forest, data.X, data.y, None, data.X_unlabeled)
        self.grower = LACForestGrower(self.rows, forest._growth_options(self.rows))
        self.criterion = AugmentedGiniCriterion(
            data.theta, self.rows.labeled_total, self.rows.n_unlabeled
        )
        self.exploration = self.grower._explore(self.criterion)
        scores = self.grower.score_unlabeled(self.exploration.trees, self.criterion)
        self.chosen = pseudo_labels(scores, data.theta)

    def time_coding(self, name):
        code_columns(self.rows.table, 1)

    def time_step_one(self, name):
        self.grower._explore(self.criterion)

    def time_scores(self, name):
        self.grower.score_unlabeled(self.exploration.trees, self.criterion)

    def time_step_two(self, name):
        self.grower._refine(self.exploration, self.chosen, self.criterion)


class Split:
    """The search at one node: 100 trees of one split each, by rows and distinct values."""

    params = ([64, 512, 4_096, 32_768], [2, 32, 1_000_000])
    param_names = ("n_rows", "n_distinct")

    def setup(self, n_rows, n_distinct):
        import numpy as np

        rng = np.random.default_rng(0)
        X = rng.integers(n_distinct, size=(n_rows, 16)).astype(np.float32)
        y = rng.integers(5, size=n_rows // 2)
        forest = common.LACForestClassifier(max_depth=1, max_features=4, random_state=0)
        self.rows, _ = check_training_rows(forest, X[: len(y)], y, None, X[len(y) :])
        self.grower = LACForestGrower(self.rows, forest._growth_options(self.rows))
        self.criterion = AugmentedGiniCriterion(0.5, len(y), n_rows - len(y))

    def time_search(self, n_rows, n_distinct):
        import numpy as np

        everyone = np.ones(self.rows.table.n_rows, dtype=np.uint8)
        grower = self.grower
        limits = grower.limits(1, search_on=False)
        grower.grow_trees(TreePlan(self.criterion, limits, grower.explore_seeds, everyone))
