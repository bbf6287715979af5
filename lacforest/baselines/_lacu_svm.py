"""LACU-SVM: one large-margin machine for each known class, shaped by unlabelled rows."""

from __future__ import annotations

from typing import Any, ClassVar, Literal

import numpy as np
from joblib import effective_n_jobs
from numpy.typing import NDArray
from sklearn.exceptions import ConvergenceWarning

from lacforest._growing.plan import draw_entropy
from lacforest._input.parameters import check_int, is_real
from lacforest._utils.threads import in_threads
from lacforest._utils.user_warnings import warn_user
from lacforest.baselines._base import Problem, ThetaMethod, Verdict, VerdictMethod
from lacforest.baselines._files import State, StoredState
from lacforest.baselines._kernels import KernelExpansion, kernel_matrix, svm_gamma
from lacforest.baselines._lacu_machine import LACUOptions, balance_band, train_machine
from lacforest.baselines._one_versus_rest import OneVersusRest, check_machine
from lacforest.baselines._parameters import check_positive


class LACUSVMClassifier(VerdictMethod, ThetaMethod):
    """Large-margin machines that unlabelled rows and known negatives push inwards [1]_.

    One machine for each known class. Labelled rows have hinge loss, unlabelled rows a symmetric
    ramp loss that keeps the boundary out of dense regions; their mean output stays in a band around
    the share of the class, and labelled rows of other classes are pushed further away than the
    nearest positive is. A row that no machine accepts is new. The loss is not convex: a
    concave-convex procedure solves one quadratic programme per round.

    Without unlabelled rows it is a one-versus-rest SVM that calls no row new.

    Parameters
    ----------
    C : float, default=1.0
        Penalty of margin violations of labelled rows.
    C_unlabeled : "auto" or float, default="auto"
        Penalty of unlabelled rows; "auto" is C times the number of labelled rows over that of
        unlabelled rows, as published.
    kernel : {"linear", "rbf"}, default="linear"
        The authors' program offers both and shows the linear one. ``paper_table`` sets "rbf",
        ``gamma="scale"``, ``C=2`` and ``decision="machine"``, which come closest to the paper's
        table.
    gamma : {"auto", "scale"} or float, default="auto"
        Kernel ``exp(-gamma * distance ** 2)`` of "rbf", as in `sklearn.svm.SVC`; "auto", one over
        the number of features, as published.
    ramp : float, default=-0.3
        Output at which the ramp loss becomes flat, in (-1, 0].
    balance : float, default=1.3
        Width of the band: the mean output lies between `balance` times the mean label and the
        mean label.
    push : float, default=0.1
        Distance that known negatives keep beyond the nearest positive.
    max_rounds : int, default=10
    decision : {"combined", "machine"}, default="combined"
        The values that decide. "machine" is the output of each class's machine, as in any
        one-versus-rest method. "combined", that of the authors' program, puts the output of the
        SVM on labelled rows in its place wherever the machine's output is positive.
    theta : None, "auto", float in (0, 1) or estimator, default=None
        None is the method as published: the mean label is that of labelled rows, as if no
        unlabelled row were new. Otherwise it is what it would be with a share theta of new rows.
    unlabeled_label : object, default=None
        A label that marks unlabelled rows inside X.
    new_label : "auto" or label, default="auto"
        What to predict for new rows, as in `LACForestClassifier`.
    n_jobs : int or None, default=None
        Threads, over machines. The result is the same for any number.
    random_state : int, RandomState instance or None, default=None
        Seed of the estimate of theta.

    Attributes
    ----------
    theta_, theta_interval_, theta_estimator_
        As in `LACForestClassifier`; None if theta is.
    classes_, known_classes_, new_label_, new_class_index_
        As in `LACForestClassifier`.
    n_features_in_, feature_names_in_ : as in scikit-learn

    Notes
    -----
    A row is new if its highest value is negative, and of the class with the highest value
    otherwise. Values are margins, so there is no ``predict_proba``.

    Weights of rows are factors of C; a row of weight w counts as w rows in the mean label, in the
    number of labelled rows and in ``gamma="scale"``.

    Memory grows with the square of the number of rows.

    References
    ----------
    .. [1] Q. Da, Y. Yu and Z.-H. Zhou, "Learning with Augmented Class by Exploiting Unlabeled
       Data", AAAI 2014.

    Examples
    --------
    >>> import numpy as np
    >>> from lacforest.baselines import LACUSVMClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = np.repeat([[0, 0], [6, 0]], 100, axis=0) + rng.normal(size=(200, 2))
    >>> y = np.repeat(["a", "b"], 100)
    >>> deployed = np.vstack([X, [3, 9] + rng.normal(size=(200, 2))])
    >>> lacu = LACUSVMClassifier(kernel="rbf", theta=0.5).fit(X, y, X_unlabeled=deployed)
    >>> lacu.predict([[0, 0], [6, 0], [3, 9]])
    array(['a', 'b', '<new>'], dtype='<U5')
    """

    _theta_optional: ClassVar[bool] = True
    _PAPER_TABLE: ClassVar[dict[str, Any]] = {
        "C": 2.0,
        "kernel": "rbf",
        "gamma": "scale",
        "decision": "machine",
    }

    def __init__(
        self,
        C: float = 1.0,
        *,
        C_unlabeled: Any = "auto",
        kernel: Literal["linear", "rbf"] = "linear",
        gamma: Any = "auto",
        ramp: float = -0.3,
        balance: float = 1.3,
        push: float = 0.1,
        max_rounds: int = 10,
        decision: Literal["combined", "machine"] = "combined",
        theta: Any = None,
        unlabeled_label: Any = None,
        new_label: Any = "auto",
        n_jobs: int | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.C = C
        self.C_unlabeled = C_unlabeled
        self.kernel = kernel
        self.gamma = gamma
        self.ramp = ramp
        self.balance = balance
        self.push = push
        self.max_rounds = max_rounds
        self.decision = decision
        self.theta = theta
        self.unlabeled_label = unlabeled_label
        self.new_label = new_label
        self.n_jobs = n_jobs
        self.random_state = random_state

    def _check_parameters(self) -> None:
        super()._check_parameters()
        check_machine(self.C, self.gamma)
        if not (isinstance(self.C_unlabeled, str) and self.C_unlabeled == "auto"):
            if not is_real(self.C_unlabeled):
                raise TypeError(f'C_unlabeled must be "auto" or a number, got {self.C_unlabeled!r}')
            check_positive("C_unlabeled", self.C_unlabeled, zero_allowed=True)
        if self.kernel not in ("linear", "rbf"):
            raise ValueError(f'kernel must be "linear" or "rbf", got {self.kernel!r}')
        if not is_real(self.ramp):
            raise TypeError(f"ramp must be a number in (-1, 0], got {self.ramp!r}")
        if not -1.0 < self.ramp <= 0.0:
            raise ValueError(f"ramp must lie in (-1, 0], got {self.ramp!r}")
        check_positive("balance", self.balance)
        check_positive("push", self.push, zero_allowed=True)
        check_int("max_rounds", self.max_rounds, 1)
        if self.decision not in ("combined", "machine"):
            raise ValueError(f'decision must be "combined" or "machine", got {self.decision!r}')

    def _learn(self, problem: Problem) -> None:
        self._need_two_classes(problem)
        theta = 0.0
        if self.theta is None:
            self._store_theta(None)
        else:
            theta = self._find_theta(problem, draw_entropy(self.random_state))
        self._start = OneVersusRest.train(
            problem.X,
            problem.y,
            problem.weight,
            problem.n_known,
            self.C,
            self.gamma,
            self.kernel,
        )
        self._machines: KernelExpansion | None = None
        if not problem.is_closed:
            self._machines = self._train_machines(problem, theta)

    def _train_machines(self, problem: Problem, theta: float) -> KernelExpansion:
        rows = np.vstack([problem.X, problem.X_unlabeled])
        gamma = svm_gamma(self.gamma, problem.X, problem.weight)
        kernel = _kernel_with_mean(kernel_matrix(self.kernel, rows, rows, gamma), len(problem.y))
        options = self._options(problem)
        start = self._start.decision_values(rows)
        calls = []
        for code in range(problem.n_known):
            signs = np.where(problem.y == code, 1.0, -1.0)
            share = float(np.average(signs > 0, weights=problem.weight))
            band = balance_band(2.0 * (1.0 - theta) * share - 1.0, options.balance)
            calls.append((kernel, signs, problem.weight, start[:, code], band, options))
        n_threads = min(effective_n_jobs(self.n_jobs), len(calls))
        machines = list(in_threads(train_machine, calls, n_threads))
        unmet = [not machine.constraints_met for machine in machines]
        if any(unmet):
            warn_user(
                "the machines of the classes "
                f"{self.known_classes_[unmet].tolist()} cannot keep unlabelled rows in balance and "
                "known negatives away at the same time, and give up part of one for the other: try "
                "another kernel or a smaller push",
                ConvergenceWarning,
            )
        return KernelExpansion(
            self.kernel,
            gamma,
            rows,
            np.column_stack([machine.coefficients() for machine in machines]),
            np.array([machine.bias for machine in machines]),
        )

    def _options(self, problem: Problem) -> LACUOptions:
        C_unlabeled = self.C_unlabeled
        if isinstance(C_unlabeled, str):
            C_unlabeled = self.C * problem.weight.sum() / len(problem.X_unlabeled)
        return LACUOptions(
            float(self.C),
            float(C_unlabeled),
            float(self.ramp),
            float(self.balance),
            float(self.push),
            int(self.max_rounds),
        )

    def _values(self, X: NDArray[np.float64]) -> NDArray[np.float64]:
        """The values that decide: a column for each known class."""
        if self._machines is None:
            return self._start.decision_values(X)
        outputs = self._machines.values(X)
        if self.decision == "machine":
            return outputs
        return np.where(outputs <= 0, outputs, self._start.decision_values(X))

    def _judge(self, X: NDArray[np.float64]) -> Verdict:
        values = self._values(X)
        best = values.max(axis=1)
        return Verdict(values.argmax(axis=1), best < 0, -best)

    def _state(self) -> State:
        machines = {} if self._machines is None else self._machines.state("machines")
        return self._start.state("start") | machines

    def _restore(self, stored: StoredState) -> None:
        self._start = OneVersusRest.restore(stored, "start", len(self.known_classes_))
        self._machines = None
        if self.new_class_index_ is not None:
            self._machines = KernelExpansion.restore(stored, "machines", "n_known")


def _kernel_with_mean(kernel: NDArray[np.float64], n_labeled: int) -> NDArray[np.float64]:
    """Kernel of all rows, with the mean of the unlabelled ones as a last point."""
    if not np.isfinite(kernel).all():
        raise ValueError("inner products of rows are not finite: scale the columns of X")
    n_rows = len(kernel)
    extended = np.empty((n_rows + 1, n_rows + 1))
    extended[:-1, :-1] = kernel
    extended[-1, :-1] = kernel[n_labeled:].mean(axis=0)
    extended[:-1, -1] = extended[-1, :-1]
    extended[-1, -1] = extended[-1, n_labeled:-1].mean()
    return extended
