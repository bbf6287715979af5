"""OVR-SVM: one machine for each known class; a row is new if all of them reject it."""

from __future__ import annotations

from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray

from lacforest._utils.user_warnings import warn_user
from lacforest.baselines._base import Problem, Verdict, VerdictMethod
from lacforest.baselines._files import State, StoredState
from lacforest.baselines._one_versus_rest import OneVersusRest, check_machine


class OVRSVMClassifier(VerdictMethod):
    """One Gaussian SVM for each known class against the rest [1]_.

    A row is new if all machines reject it. Unlabelled rows are accepted and ignored. Far from all
    rows the outputs tend to the biases of the machines, so such a row is new if all biases are
    negative, as they usually are.

    Parameters
    ----------
    C : float, default=1.0
        Penalty of margin violations.
    gamma : {"scale", "auto"} or float, default="scale"
        Kernel ``exp(-gamma * distance ** 2)``, as in `sklearn.svm.SVC`. The authors tune both by
        cross-validation, which `GridSearchCV` does; the defaults come closest to the paper's table.
    unlabeled_label : object, default=None
        A label that marks unlabelled rows inside X; they are left out.
    new_label : "auto" or label, default="auto"
        What to predict for new rows, as in `LACForestClassifier`.

    Attributes
    ----------
    classes_, known_classes_, new_label_, new_class_index_
        As in `LACForestClassifier`. There is always a new class.
    n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    With two known classes each machine is the negative of the other: one of them accepts every row,
    and no row is new. `fit` warns in this case. `novelty_score` still ranks rows, by closeness to
    the boundary. Outputs are margins, so there is no ``predict_proba``.

    Weights of rows are factors of C, as in `sklearn.svm.SVC`; ``gamma="scale"`` counts a row of
    weight w as w rows.

    References
    ----------
    .. [1] R. Rifkin and A. Klautau, "In Defense of One-Vs-All Classification", JMLR 2004.

    Examples
    --------
    >>> import numpy as np
    >>> from lacforest.baselines import OVRSVMClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = np.repeat([[0, 0], [6, 0], [0, 6]], 50, axis=0) + rng.normal(size=(150, 2))
    >>> y = np.repeat(["a", "b", "c"], 50)
    >>> OVRSVMClassifier().fit(X, y).predict([[0, 0], [6, 0], [12, 12]])
    array(['a', 'b', '<new>'], dtype='<U5')
    """

    _uses_unlabeled: ClassVar[bool] = False

    def __init__(
        self,
        C: float = 1.0,
        *,
        gamma: Any = "scale",
        unlabeled_label: Any = None,
        new_label: Any = "auto",
    ) -> None:
        self.C = C
        self.gamma = gamma
        self.unlabeled_label = unlabeled_label
        self.new_label = new_label

    def _check_parameters(self) -> None:
        check_machine(self.C, self.gamma)

    def _learn(self, problem: Problem) -> None:
        self._need_two_classes(problem)
        if problem.n_known == 2:
            warn_user(
                "with two known classes one of the two machines accepts every row, and no row is "
                "called new: OVRSVMClassifier needs three. Use a method that learns from "
                "unlabelled rows.",
                UserWarning,
            )
        self._machines = OneVersusRest.train(
            problem.X, problem.y, problem.weight, problem.n_known, self.C, self.gamma
        )

    def _judge(self, X: NDArray[np.float64]) -> Verdict:
        values = self._machines.decision_values(X)
        best = values.max(axis=1)
        return Verdict(values.argmax(axis=1), best <= 0, -best)

    def _state(self) -> State:
        return self._machines.state("machines")

    def _restore(self, stored: StoredState) -> None:
        self._machines = OneVersusRest.restore(stored, "machines", len(self.known_classes_))
