"""Callbacks of scikit-learn 1.9 and later: progress of a fit, tree by tree."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TypeVar, cast

from lacforest._utils.progress import current_watcher, watching

if TYPE_CHECKING:
    CallbackSupport = object
else:
    try:
        from sklearn.callback import CallbackSupportMixin as CallbackSupport
    except ImportError:

        class CallbackSupport:
            """Nothing: this scikit-learn has no callbacks."""


_Fit = TypeVar("_Fit", bound=Callable[..., Any])


class _Stages:
    """Reports stages of a fit (theta, Step I, Step II) as tasks, and trees as their subtasks."""

    def __init__(self, estimator: Any, context: Any) -> None:
        self._estimator, self._root = estimator, context
        self._outer = current_watcher()
        self._stage: Any = None
        self._name, self._n_done = "", 0

    def __call__(self, what: str, n_done: int, n_total: int) -> None:
        if self._outer is not None:
            self._outer(what, n_done, n_total)
        if self._stage is None or what != self._name or n_done <= self._n_done:
            self.close()
            self._stage = self._root.subcontext(task_name=what, max_subtasks=n_total)
            self._stage.call_on_fit_task_begin(estimator=self._estimator)
            self._name, self._n_done = what, 0
        for _ in range(n_done - self._n_done):
            tree = self._stage.subcontext(task_name="tree")
            tree.call_on_fit_task_begin(estimator=self._estimator)
            tree.call_on_fit_task_end(estimator=self._estimator)
        self._n_done = n_done

    def close(self) -> None:
        """End the current stage."""
        if self._stage is not None:
            self._stage.call_on_fit_task_end(estimator=self._estimator)
            self._stage = None


def report_to_callbacks(fit: _Fit) -> _Fit:
    """Decorate `fit` of a forest: callbacks that are set on it hear of every tree.

    A callback cannot stop a fit early, because a forest without all of its trees is another one;
    Ctrl-C can.
    """

    @functools.wraps(fit)
    def fit_with_callbacks(self: Any, *arguments: Any, **named: Any) -> Any:
        if not hasattr(self, "_skl_callbacks"):
            return fit(self, *arguments, **named)
        from sklearn.callback import with_callbacks

        @with_callbacks  # type: ignore[untyped-decorator]
        def run(estimator: Any) -> Any:
            context = estimator._init_callback_context(max_subtasks=None)
            context.call_on_fit_task_begin(estimator=estimator)
            stages = _Stages(estimator, context)
            with watching(stages):
                fitted = fit(estimator, *arguments, **named)
            stages.close()
            X, y = (*arguments, named.get("X"), named.get("y"))[:2]
            context.call_on_fit_task_end(
                estimator=estimator,
                X=X,
                y=y,
                reconstruction_attributes=lambda: _fitted_attributes(estimator),
            )
            return fitted

        return run(self)

    return cast(_Fit, fit_with_callbacks)


def _fitted_attributes(estimator: Any) -> dict[str, Any]:
    """Everything that `fit` has set; parameters and what scikit-learn keeps are left out."""
    parameters = estimator.get_params(deep=False)
    return {
        name: value
        for name, value in vars(estimator).items()
        if name not in parameters and not name.startswith(("_skl", "_callback", "_parent"))
    }
