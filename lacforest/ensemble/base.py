"""How both forests are fitted: check, code, theta, explore, label, refine."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from lacforest._coding.coded_table import code_table
from lacforest._contract.checks import check_fit
from lacforest._contract.classifier import keyword_only_fit
from lacforest._contract.deployment import Deployment, check_theta, find_deployment
from lacforest._growing.out_of_bag import out_of_bag_probabilities
from lacforest._growing.plan import StepPlans, TreePlan, draw_entropy, labeled_cap
from lacforest._growing.run import Grower
from lacforest._growing.steps import (
    Exploration,
    GrownForest,
    PseudoLabels,
    explore,
    label,
    refine_plain,
)
from lacforest._growing.tree_grower import TreeGrower
from lacforest._input.parameters import (
    check_bool,
    check_known_shares,
    check_max_bins,
    check_pseudo_cap,
    check_tree_parameters,
)
from lacforest._input.tables import TakesGapsAndSparse, reject_dask
from lacforest._input.training_data import RowTotals, TrainingRows, check_training_rows
from lacforest._utils.callbacks import report_to_callbacks
from lacforest._utils.classes import Labels
from lacforest._utils.one_state import replaced_at_once
from lacforest._utils.user_warnings import warn_user
from lacforest.ensemble.fitted import FittedForest
from lacforest.ensemble.warm_start import EarlierFit, find_earlier, remember

# Fitted attributes of `oob_score`.
_OUT_OF_BAG = ("oob_score_", "oob_decision_function_")


class BaseLACForest(TakesGapsAndSparse, FittedForest):
    """The fit of every forest that learns with an augmented class.

    A subclass brings its parameters, the plans of both steps, and Step II.
    """

    n_estimators: Any
    theta: Any
    known_shares: Any
    pseudo_cap: float | None
    max_samples: int | float | None
    max_bins: Any
    oob_score: bool
    warm_start: bool
    max_features: Any
    max_depth: int | None
    min_samples_split: int
    min_samples_leaf: int
    random_state: Any
    verbose: int

    # Of a fit with `warm_start`: what the next one goes on from.
    _earlier: EarlierFit | None = None

    @keyword_only_fit
    @report_to_callbacks
    def fit(
        self,
        X: ArrayLike,
        y: ArrayLike,
        *,
        X_unlabeled: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        control: tuple[ArrayLike, ArrayLike] | None = None,
    ) -> Self:
        """Grow the forest: check, code, find theta, explore, label, refine.

        Parameters
        ----------
        X : array-like, frame or sparse matrix of shape (n_rows, n_features)
            Labelled rows, and unlabelled ones among them if `unlabeled_label` is set. NaN is
            missing.
        y : array-like of shape (n_rows,)
            Labels.
        X_unlabeled : like X, of shape (n_unlabeled, n_features), optional
            Unlabelled rows from deployment.
        sample_weight : array-like of shape (n_rows,), optional
            Weights of labelled rows; see Notes of `LACForestClassifier`.
        control : tuple of X_known and y_known, optional
            Rows of known classes from deployment, a random sample of them, with their labels: a
            hundred or more. Theta is then found by comparing unlabelled rows with these, and both
            steps learn from them: drift of the known classes no longer looks new.

        Returns
        -------
        self
        """
        with replaced_at_once(self) as fitted:
            fitted._fit(X, y, X_unlabeled, sample_weight, control)
        return self

    def _fit(self, X: Any, y: Any, X_unlabeled: Any, sample_weight: Any, control: Any) -> None:
        """All of `fit`, on a copy that no other thread sees."""
        reject_dask(self, X=X, y=y, X_unlabeled=X_unlabeled, sample_weight=sample_weight)
        theta = self._check_parameters()
        rows, labels = check_training_rows(self, X, y, sample_weight, X_unlabeled, control=control)
        coded = code_table(rows.table, self.n_jobs, self.max_bins)
        earlier = find_earlier(self, rows, labels, coded) if self.warm_start else None
        entropy = draw_entropy(self.random_state) if earlier is None else earlier.entropy
        deployment = None
        if earlier is not None:
            deployment = earlier.deployment_of(rows)
        elif rows.n_unlabeled > 0:
            deployment = find_deployment(
                theta, self.known_shares, rows, labels.known, coded, entropy, self.n_jobs
            )
        weighted = rows if deployment is None else deployment.rows
        grower = Grower(weighted, coded, self.n_jobs, self.verbose)
        plan, grown = self._grow(grower, labels, deployment, entropy, earlier)
        if earlier is not None:
            self._earlier = replace(earlier, grown=grown)
        elif self.warm_start:
            self._earlier = remember(self, rows, labels, coded, entropy, deployment, grown)
        if self.oob_score:
            self._judge_out_of_bag(plan, weighted)

    def _grow(
        self,
        grower: TreeGrower,
        labels: Labels,
        deployment: Deployment | None,
        entropy: NDArray[np.uint32],
        earlier: EarlierFit | None = None,
    ) -> tuple[TreePlan, GrownForest]:
        """The second half of `fit`, which a fit on Dask shares: both steps on any grower.

        Trees of an earlier fit stay. Returns the plan of the trees that predict, and the trees.
        """
        totals = grower.totals
        plans = self._plan_steps(totals, deployment, entropy)
        before = None if earlier is None else earlier.grown
        if earlier is not None and not earlier.lacks(len(plans.refine.seeds)):
            return plans.refine, earlier.grown
        if deployment is None or plans.explore is None:
            plan = plans.refine if before is None else plans.refine.take_trees(before.n_trees)
            plain = refine_plain(grower, plan)
            return plans.refine, self._keep(totals, labels, None, plain, before)
        explored = explore(grower, plans.explore, None if before is None else before.exploration)
        if explored.made_no_split:
            warn_user(self._unexplored_message(), UserWarning)
        theta, rate = deployment.theta, plans.refine.rate
        most_labeled = labeled_cap(totals, rate, theta.lower, self.pseudo_cap)
        plans = replace(plans, refine=replace(plans.refine, max_labeled=most_labeled))
        pseudo = label(grower, explored, rate, theta.upper, self.pseudo_cap)
        deployment = check_fit(deployment, *grower.checked_rows(pseudo.marked), self)
        grown = self._refine(grower, plans, explored, pseudo, before)
        return plans.refine, self._keep(totals, labels, deployment, grown, before)

    # ------------------------------------------------------------------ what the forests differ in

    @abstractmethod
    def _check_own_parameters(self) -> None:
        """Check the parameters that the other forest does not have."""

    @abstractmethod
    def _plan_steps(
        self, totals: RowTotals, deployment: Deployment | None, entropy: NDArray[np.uint32]
    ) -> StepPlans:
        """What both steps grow; Step I grows nothing where no row is unlabelled."""

    @abstractmethod
    def _unexplored_message(self) -> str:
        """What to warn of where Step I found no split."""

    @abstractmethod
    def _refine(
        self,
        grower: TreeGrower,
        plans: StepPlans,
        explored: Exploration,
        pseudo: PseudoLabels,
        before: GrownForest | None,
    ) -> GrownForest:
        """Step II: the trees that an earlier fit has not grown, and the decrease by both steps."""

    # ------------------------------------------------------------------ shared parts

    def _check_parameters(self) -> Any:
        """Check all that needs no data; return theta or the estimator of it."""
        check_tree_parameters(self)
        self._check_own_parameters()
        check_pseudo_cap(self.pseudo_cap)
        check_max_bins(self.max_bins)
        check_bool("oob_score", self.oob_score)
        check_bool("warm_start", self.warm_start)
        if self.oob_score and self.max_samples is None and not getattr(self, "bootstrap", False):
            raise ValueError(
                "oob_score=True needs trees that leave rows out: set max_samples"
                + (" or bootstrap=True" if hasattr(self, "bootstrap") else "")
            )
        check_known_shares(self.known_shares)
        return check_theta(self.theta)

    @property
    def _rows_of_tree(self) -> int | float | None:
        return self.max_samples

    def _n_trees(self, n_rows: int) -> int:
        """Trees that predict, after a fit on n_rows labelled and unlabelled rows."""
        return int(self.n_estimators)

    def _keep(
        self,
        totals: RowTotals,
        labels: Labels,
        deployment: Deployment | None,
        grown: GrownForest,
        before: GrownForest | None,
    ) -> GrownForest:
        """Set the fitted attributes; return the trees behind those of the earlier fit."""
        if before is not None:
            grown = grown.after(before)
        self._store_labels(labels)
        self._store_deployment(deployment)
        self.pseudo_labels_ = grown.marked
        self.unlabeled_score_ = grown.scores
        self.feature_importances_ = grown.importances
        self.n_labeled_ = totals.labeled_total
        self._forest = grown.predicting
        self._explored = grown.exploring
        # A new fit is adapted to nothing, and judges its own rows only if asked to.
        for name in ("_class_factors", "_fitted_shares", "adaptation_", "_earlier", *_OUT_OF_BAG):
            self.__dict__.pop(name, None)
        return grown

    def _judge_out_of_bag(self, plan: TreePlan, rows: TrainingRows) -> None:
        """Predict labelled rows by the trees that did not see them."""
        n_labeled = rows.n_labeled
        X = rows.table.take(np.arange(n_labeled)).table()
        by_code = out_of_bag_probabilities(self._forest, plan, X, self.n_jobs)
        judged = ~np.isnan(by_code[:, 0])
        if not judged.any():
            raise ValueError(
                "oob_score: every tree has seen all labelled rows. Grow more trees, or give each "
                "a smaller sample by max_samples"
            )
        if not judged.all():
            warn_user(
                f"oob_score: {(~judged).sum()} of {n_labeled} labelled rows are in the samples of "
                "all trees. Their entries of oob_decision_function_ are NaN; more trees leave "
                "fewer of them",
                UserWarning,
            )
        order = self._column_order()
        self.oob_decision_function_ = by_code[:, order]
        # Ties go to the first of `classes_`, as in `predict`.
        predicted = order[self.oob_decision_function_[judged].argmax(axis=1)]
        is_right = predicted == rows.classes[:n_labeled][judged]
        weight = None if rows.weight is None else rows.weight[:n_labeled][judged]
        self.oob_score_ = float(np.average(is_right, weights=weight))


def check_is_forest(forest: Any) -> None:
    """Refuse what is neither of the two forests."""
    if not isinstance(forest, BaseLACForest):
        raise TypeError(
            "forest must be a LACForestClassifier or a LACExtraTreesClassifier, got "
            f"{type(forest).__name__}"
        )
