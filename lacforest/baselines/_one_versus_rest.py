"""One support vector machine for each class, against the others."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.svm import SVC

from lacforest.baselines._files import State, StoredState
from lacforest.baselines._kernels import KernelExpansion, KernelName, check_gamma, svm_gamma
from lacforest.baselines._parameters import check_positive


def check_machine(C: Any, gamma: Any) -> None:
    """Parameters of an SVC."""
    check_positive("C", C)
    check_gamma(gamma, "scale", "auto")


def _n_machines(n_classes: int) -> int:
    """Of two classes one machine is trained, because the other is its negative."""
    return n_classes if n_classes > 2 else n_classes - 1


@dataclass(frozen=True)
class OneVersusRest:
    """Machines of all classes, as sums of kernels around their support vectors.

    Attributes
    ----------
    n_classes : int
    machines : KernelExpansion or None
        None for one class, which needs no machine.
    """

    n_classes: int
    machines: KernelExpansion | None

    @classmethod
    def train(
        cls,
        X: NDArray[np.float64],
        y: NDArray[np.intp],
        weight: NDArray[np.float64],
        n_classes: int,
        C: float,
        gamma: Any,
        kernel: KernelName = "rbf",
    ) -> OneVersusRest:
        """Train on class codes, each with rows.

        Parameters
        ----------
        X : float64 array of shape (n_rows, n_features)
        y : int array of shape (n_rows,)
        weight : float64 array of shape (n_rows,)
            Factors of C.
        n_classes : int
        C : float
        gamma : {"scale", "auto"} or float
        kernel : {"linear", "rbf"}, default="rbf"
        """
        n_machines = _n_machines(n_classes)
        if n_machines == 0:
            return cls(n_classes, None)
        width = svm_gamma(gamma, X, weight)
        coefficients = np.zeros((len(X), n_machines))
        biases = np.empty(n_machines)
        for column, code in enumerate(range(n_classes - n_machines, n_classes)):
            machine = SVC(C=C, kernel=kernel, gamma=width).fit(X, y == code, sample_weight=weight)
            coefficients[machine.support_, column] = machine.dual_coef_[0]
            biases[column] = machine.intercept_[0]
        used = coefficients.any(axis=1)
        return cls(n_classes, KernelExpansion(kernel, width, X[used], coefficients[used], biases))

    def decision_values(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """Array (n_rows, n_classes), positive where a machine accepts the row."""
        if self.machines is None:
            return np.ones((len(X), 1))
        values = self.machines.values(X)
        return values if self.n_classes > 2 else np.hstack([-values, values])

    def state(self, prefix: str) -> State:
        """What a file keeps of the machines."""
        return {} if self.machines is None else self.machines.state(prefix)

    @classmethod
    def restore(cls, stored: StoredState, prefix: str, n_classes: int) -> OneVersusRest:
        """The machines that a file keeps."""
        n_machines = _n_machines(n_classes)
        if n_machines == 0:
            return cls(n_classes, None)
        return cls(n_classes, KernelExpansion.restore(stored, prefix, n_machines))
