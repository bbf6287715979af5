"""LACExtraTreesClassifier: the paper's idea by extremely randomised trees."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from lacforest._contract.deployment import Deployment
from lacforest._growing.fresh_trees import TreeKinds, freeze_exploration, refine_fresh
from lacforest._growing.plan import (
    ForestSeeds,
    RowSample,
    StepPlans,
    TreePlan,
    TreeShape,
    unlabeled_cap,
)
from lacforest._growing.steps import (
    Exploration,
    GrownForest,
    PseudoLabels,
    deepen,
)
from lacforest._growing.tree_grower import TreeGrower
from lacforest._input.parameters import check_gamma, check_int, check_max_features
from lacforest._input.training_data import RowTotals
from lacforest._tree.criterion import AugmentedGiniCriterion, GiniCriterion
from lacforest.ensemble.base import BaseLACForest

_REFINEMENTS = ("both", "hard", "sampled", "deepen")
_CUTS = ("random", "every")
# Trees of Step II by default, and beyond how many rows fewer of them do.
_N_TREES = 300
_FEWER_TREES = 200
_MANY_ROWS = 10_000
# How many times as many features Step I draws at a node.
_MORE_EXPLORED = 4
# Shares of classes enlarge the leaves of Step I by no more than this.
_MOST_ROWS_PER_ROW = 10.0


class LACExtraTreesClassifier(BaseLACForest):
    """Extremely randomised trees for learning with an augmented class.

    A sibling of `LACForestClassifier`, as scikit-learn has ExtraTreesClassifier beside
    RandomForestClassifier: the same contract, but a method of our own and not the paper's. Step I
    explores by augmented Gini impurity with one random cut per feature, down to leaves of a few
    rows. Step II grows *fresh* trees: half of them on pseudo-labels as in the paper, where
    unlabelled rows without a pseudo-label are left out; half on all rows, where every tree *draws*
    the labels of unlabelled rows from the probabilities found so far.

    Without unlabelled rows these are plain extremely randomised trees of the known classes.

    Parameters
    ----------
    n_estimators : "auto" or int, default="auto"
        Trees of Step II, the ones that predict. "auto" is 300 up to 10,000 rows, labelled and
        unlabelled together, and 200 beyond, where they are as accurate.
    theta : "auto", float in (0, 1) or estimator, default="auto"
        Share of unlabelled rows that belong to the new class; see `LACForestClassifier`.
    known_shares : "auto", "labeled", array or dict, default="auto"
        Shares of the known classes among the known rows of deployment. "labeled" takes those of
        the labelled rows, as the paper does. "auto" does so too unless the unlabelled rows show
        that the shares have moved; then they are estimated together with theta by
        `lacforest.mixture.ShareMixture`. Given shares sum to 1: an array
        in the order of the sorted labels, or a dict by label. Labelled rows are weighted to these
        shares.
    n_explorers : int, default=100
        Trees of Step I.
    min_explored_leaf : int, default=3
        Rows, labelled and unlabelled together, that each leaf of Step I keeps; up to ten times as
        many if the shares of known classes have moved, by how many rows of deployment a labelled
        row stands for.
    max_explored_features : "auto", "sqrt", "log2", int, float or None, default="auto"
        Features drawn at a node of Step I, as `max_features`; "auto" is four times `max_features`,
        or all. One random cut is tried of each, so more of them cost little.
    gamma : float in [0, 0.5], default=0.0
        Shares of all labelled and of all unlabelled rows that children of Step I keep (Eqns 5 and 6
        of the paper). 0 asks for nothing.
    cuts : {"random", "every"}, default="random"
        Candidates of a drawn feature in Step I: one random cut, or all of them as in the paper.
    refinement : {"both", "hard", "sampled", "deepen"}, default="both"
        Trees of Step II. "hard" grows all on pseudo-labels, "sampled" all on drawn labels, "both"
        half and half. "deepen" grows the trees of Step I on by pseudo-labels, as the paper does:
        then there are `n_explorers` trees, and `n_estimators` is not used.
    pseudo_cap : float or None, default=1.0
        Most pseudo-labelled rows of a tree on pseudo-labels, as a multiple of
        ``n_l * theta / (1 - theta)``: the new rows that come with n_l known ones where the
        unlabelled rows are from. Here theta is its upper end under a moderate overlap of new and
        known rows (``RankMixture.moderate_upper_``), where there is one. Trees of Step I and on
        drawn labels take at most the same multiple of ``2 * n_l`` unlabelled rows, and no cap on
        pseudo-labels is below the number among so many. Trees of Step II take at most twice as
        many labelled rows as there are known rows among the unlabelled ones, with theta its lower
        end, or 30 per known class if that is more. Each tree draws its own rows. Without caps
        (None), too many rows are predicted as new where there are many more unlabelled rows than
        labelled ones, and too few where there are many more labelled ones.
    max_features : {"sqrt", "log2"}, int, float or None, default="sqrt"
        Features drawn at a node of Step II, which draws on until one of them can split the node.
    max_depth : int or None, default=None
        Deepest level of a tree.
    min_samples_split : int, default=2
        Rows that a node needs to be split.
    min_samples_leaf : int, default=1
        Rows each child needs in Step II.
    max_samples : int, float in (0, 1] or None, default=None
        Rows of a tree of either step, as in `LACForestClassifier`.
    oob_score : bool, default=False
        Whether to predict each labelled row by the trees whose samples left it out, which needs
        `max_samples`. Known rows only: how many new rows are found shows elsewhere.
    warm_start : bool, default=False
        Whether a fit keeps the trees of the one before and grows only those that `n_estimators`
        asks for beyond them. See Notes.
    max_bins : "auto", int from 2 to 255 or None, default="auto"
        Most codes of a column, as in `LACForestClassifier`.
    categorical_features : "from_dtype", array-like of bool, int or str, or None, \
default="from_dtype"
        Columns of categories, as in `LACForestClassifier`. A random cut of them is a random set of
        the categories of the node.
    class_weight : dict, "balanced" or None, default=None
        Factors for the weights of labelled rows, by known class.
    unlabeled_label : object, default=None
        A label that marks unlabelled rows inside X; see `LACForestClassifier`.
    new_label : "auto" or label, default="auto"
        What to predict for new rows; see `LACForestClassifier`.
    n_jobs : int or None, default=None
        Threads, as in joblib. The result is the same for any number.
    random_state : int, RandomState instance or None, default=None
        Seed of features, cuts and labels.
    verbose : int, default=0
        Passed to joblib: progress over trees if positive.

    Attributes
    ----------
    classes_, known_classes_, new_label_, new_class_index_, theta_, theta_interval_, \
theta_estimator_, theta_curve_, fit_findings_, column_shift_, pseudo_labels_, unlabeled_score_, \
estimators_, is_categorical_, categories_, \
n_features_in_, feature_names_in_
        As in `LACForestClassifier`.
    oob_score_, oob_decision_function_
        As in `LACForestClassifier`.
    feature_importances_ : ndarray of shape (n_features,)
        Mean over the trees of both steps of the decrease of augmented Gini (Step I) and of Gini
        (Step II), normalised.

    See Also
    --------
    LACForestClassifier : The paper's method.

    Notes
    -----
    Weights and missing values are as in `LACForestClassifier`. Rows whose labels are drawn weigh 1.

    With s the score of an unlabelled row in Step I, its share of "new" is
    ``expit(4 logit(s) + b)``, with s clipped to [0.001, 0.999] and b such that shares have the mean
    theta. Known classes share the rest by the votes of the trees on pseudo-labels.

    With ``warm_start=True`` a second fit on the same data with more `n_estimators` adds trees of
    Step II. Theta, the trees of Step I, pseudo-labels and the shares that labels are drawn from
    stay those of the first fit, which should therefore have a hundred trees or more. With
    ``refinement="hard"`` the forest is, bit for bit, that of one fit of all trees; otherwise one
    fit would find shares by the votes of more trees. What may change between the two fits is as in
    `LACForestClassifier`.

    Examples
    --------
    >>> import numpy as np
    >>> from lacforest import LACExtraTreesClassifier
    >>> rng = np.random.default_rng(0)
    >>> known = np.repeat([[0.0, 0.0], [4.0, 0.0]], 100, axis=0) + rng.normal(size=(200, 2))
    >>> label = np.repeat(["a", "b"], 100)
    >>> deployed = np.vstack([known, [2.0, 6.0] + rng.normal(size=(200, 2))])
    >>> forest = LACExtraTreesClassifier(theta=0.5, random_state=0)
    >>> forest.fit(known, label, X_unlabeled=deployed).predict([[0, 0], [4, 0], [2, 6]])
    array(['a', 'b', '<new>'], dtype='<U5')
    """

    def __init__(
        self,
        n_estimators: Literal["auto"] | int = "auto",
        *,
        theta: Any = "auto",
        known_shares: Any = "auto",
        n_explorers: int = 100,
        min_explored_leaf: int = 3,
        max_explored_features: Literal["auto", "sqrt", "log2"] | int | float | None = "auto",
        gamma: float = 0.0,
        cuts: Literal["random", "every"] = "random",
        refinement: Literal["both", "hard", "sampled", "deepen"] = "both",
        pseudo_cap: float | None = 1.0,
        max_features: Literal["sqrt", "log2"] | int | float | None = "sqrt",
        max_depth: int | None = None,
        min_samples_split: int = 2,
        min_samples_leaf: int = 1,
        max_samples: int | float | None = None,
        oob_score: bool = False,
        warm_start: bool = False,
        max_bins: Literal["auto"] | int | None = "auto",
        categorical_features: Any = "from_dtype",
        class_weight: dict[Any, float] | Literal["balanced"] | None = None,
        unlabeled_label: Any = None,
        new_label: Any = "auto",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
        verbose: int = 0,
    ) -> None:
        self.n_estimators = n_estimators
        self.theta = theta
        self.known_shares = known_shares
        self.n_explorers = n_explorers
        self.min_explored_leaf = min_explored_leaf
        self.max_explored_features = max_explored_features
        self.gamma = gamma
        self.cuts = cuts
        self.refinement = refinement
        self.pseudo_cap = pseudo_cap
        self.max_features = max_features
        self.max_depth = max_depth
        self.min_samples_split = min_samples_split
        self.min_samples_leaf = min_samples_leaf
        self.max_samples = max_samples
        self.oob_score = oob_score
        self.warm_start = warm_start
        self.max_bins = max_bins
        self.categorical_features = categorical_features
        self.class_weight = class_weight
        self.unlabeled_label = unlabeled_label
        self.new_label = new_label
        self.n_jobs = n_jobs
        self.random_state = random_state
        self.verbose = verbose

    def _plan_steps(
        self, totals: RowTotals, deployment: Deployment | None, entropy: NDArray[np.uint32]
    ) -> StepPlans:
        n_rows = totals.n_labeled + totals.n_unlabeled
        sample = RowSample.of(self._rows_of_tree, n_rows)
        rate = 1.0 if sample is None else sample.rate
        most_unlabeled = unlabeled_cap(totals.labeled_rows * rate, self.pseudo_cap)
        seeds = ForestSeeds.of_fresh_trees(
            entropy, self.n_explorers, self._n_trees(n_rows), sample is not None
        )
        shape = TreeShape.of(self, totals.n_features)
        refine = TreePlan(
            GiniCriterion(),
            shape,
            seeds.refine,
            random_cuts=True,
            max_unlabeled=most_unlabeled,
            sample_seeds=seeds.fresh_sample,
            sample=sample,
        )
        if deployment is None:
            return StepPlans(None, refine, seeds)
        n_unlabeled: float = totals.n_unlabeled
        if most_unlabeled is not None:
            n_unlabeled = min(n_unlabeled, most_unlabeled / rate)
        explore = TreePlan(
            AugmentedGiniCriterion(deployment.theta.value, totals.labeled_total, n_unlabeled),
            self._explored_shape(shape, totals.n_features, deployment),
            seeds.explore,
            random_cuts=self.cuts == "random",
            max_unlabeled=most_unlabeled,
            sample_seeds=seeds.sample,
            sample=sample,
        )
        if self.refinement == "deepen":
            refine = replace(refine, seeds=seeds.of_refined_explorers(), sample_seeds=seeds.sample)
        return StepPlans(explore, refine, seeds)

    def _refine(
        self,
        grower: TreeGrower,
        plans: StepPlans,
        explored: Exploration,
        pseudo: PseudoLabels,
        before: GrownForest | None,
    ) -> GrownForest:
        plan, label_seeds = plans.refine, plans.seeds.label
        decrease = [explored.decrease]
        if self.refinement == "deepen":
            refined, exploring = deepen(grower, plan, explored, pseudo), None
        elif before is None:
            kinds = TreeKinds.of(self.refinement, len(plan.seeds))
            refined = refine_fresh(grower, plan, explored, pseudo, kinds, label_seeds)
            exploring = freeze_exploration(grower.totals, explored)
        else:
            n_before = before.n_trees
            kinds = TreeKinds.added(self.refinement, n_before, len(plan.seeds))
            refined = refine_fresh(
                grower,
                plan.take_trees(n_before),
                explored,
                pseudo,
                kinds,
                label_seeds[n_before:],
                before.soft,
            )
            exploring, decrease = before.exploring, []
        return GrownForest(
            refined.arrays,
            exploring,
            grower.collect(explored.scores),
            grower.collect(pseudo.marked),
            np.concatenate([*decrease, refined.decrease]),
            explored,
            refined.soft,
        )

    def _n_trees(self, n_rows: int) -> int:
        if self.n_estimators != "auto":
            return int(self.n_estimators)
        return _N_TREES if n_rows <= _MANY_ROWS else _FEWER_TREES

    def _check_own_parameters(self) -> None:
        check_int("n_explorers", self.n_explorers, 1)
        check_int("min_explored_leaf", self.min_explored_leaf, 1)
        check_gamma(self.gamma)
        for name, choices in (("cuts", _CUTS), ("refinement", _REFINEMENTS)):
            value = getattr(self, name)
            if not isinstance(value, str) or value not in choices:
                raise ValueError(f"{name} must be one of {', '.join(choices)}, got {value!r}")

    def _explored_shape(
        self, refined: TreeShape, n_features: int, deployment: Deployment
    ) -> TreeShape:
        """How far Step I grows a tree.

        Where a labelled row stands for several of its class in deployment, leaves have as many
        times more rows: otherwise most leaves of the class would hold none of its labelled rows.
        """
        given = self.max_explored_features
        if isinstance(given, str) and given == "auto":
            max_features = min(_MORE_EXPLORED * refined.max_features, n_features)
        else:
            max_features = check_max_features(
                given, n_features, "max_explored_features", '"auto", '
            )
        return replace(
            refined,
            max_features=max_features,
            min_samples_leaf=math.ceil(
                self.min_explored_leaf * _rows_per_row(deployment.rows.class_factor)
            ),
            draws_on=False,
            gamma=float(self.gamma) if self.gamma > 0 else None,
        )

    def _unexplored_message(self) -> str:
        return (
            "Step I found no feasible split: every tree is its root alone, and the pseudo-labels "
            "are the first rows of X_unlabeled. Either min_explored_leaf="
            f"{self.min_explored_leaf!r} or gamma={self.gamma!r} asks for more rows in each child "
            "than the data has (lower it), or all features are constant."
        )


def _rows_per_row(class_factor: NDArray[np.float64] | None) -> float:
    """How many rows of deployment a labelled row stands for, in the class where it is most."""
    if class_factor is None:
        return 1.0
    return min(max(float(class_factor.max()), 1.0), _MOST_ROWS_PER_ROW)
