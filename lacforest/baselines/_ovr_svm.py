"""OVR-SVM: one machine for each known class; new is what all of them refuse."""

from __future__ import annotations

import warnings
from typing import Any, ClassVar

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import SVC

from lacforest._parameters import is_real
from lacforest.baselines._base import AugmentedClassifier, Problem, Verdict, check_positive


def check_machine(C: Any, gamma: Any) -> None:
    """Parameters of an RBF-SVC."""
    check_positive("C", C)
    if isinstance(gamma, str) and gamma in ("scale", "auto"):
        return
    if not is_real(gamma):
        raise TypeError(f'gamma must be "scale", "auto" or a positive number, got {gamma!r}')
    check_positive("gamma", gamma)


class OneVersusRest:
    """K SVMs, each for one class against the others.

    Of two classes one machine is trained, because the other is its negative.

    Parameters
    ----------
    C : float
    gamma : {"scale", "auto"} or float
    kernel : {"rbf", "linear"}, default="rbf"
    """

    def __init__(self, C: float, gamma: Any, kernel: str = "rbf") -> None:
        self.C = C
        self.gamma = gamma
        self.kernel = kernel

    def fit(self, X: NDArray[np.float64], y: NDArray[np.intp], n_classes: int) -> OneVersusRest:
        """Train on class codes; one class needs no machine."""
        self.n_classes = n_classes
        wanted = range(n_classes) if n_classes > 2 else range(1, n_classes)
        self.machines = [
            SVC(C=self.C, kernel=self.kernel, gamma=self.gamma).fit(X, y == code) for code in wanted
        ]
        return self

    def decision_values(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Array (n_rows, n_classes), positive where a machine takes the row for its own."""
        if self.n_classes == 1:
            return np.ones((len(X), 1))
        values = np.column_stack([machine.decision_function(X) for machine in self.machines])
        return values if self.n_classes > 2 else np.hstack([-values, values])


class OVRSVMClassifier(AugmentedClassifier):
    """One Gaussian SVM for each known class against the rest [1]_; new is what all refuse.

    Unlabelled rows are accepted and ignored. A row far from all others gets the biases of the
    machines, and so is called new if all of them are negative, as they usually are.

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
        As in `LACForestClassifier`. There is a new class always.
    n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    With two known classes the machines are each other's negatives: one of them takes every row,
    and no row is called new. `fit` warns of it. `novelty_score` still ranks rows, by closeness to
    the boundary.

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
            warnings.warn(
                "with two known classes one of the two machines accepts every row, and none is "
                "called new: OVRSVMClassifier needs three. Use a method that learns from "
                "unlabelled rows.",
                UserWarning,
                stacklevel=3,
            )
        self._machines = OneVersusRest(self.C, self.gamma).fit(
            problem.X, problem.y, problem.n_known
        )

    def _judge(self, X: NDArray[np.float64]) -> Verdict:
        values = self._machines.decision_values(X)
        best = values.max(axis=1)
        return Verdict(values.argmax(axis=1), best <= 0, -best)
