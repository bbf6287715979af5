"""Functions whose time or memory grows most with the number of rows; growth.py measures all."""

from __future__ import annotations

from benchmarks import growth_calls  # noqa: F401  (lists the calls)
from benchmarks.growth_problem import CALLS, Problem


class ByRows:
    """One call, with one thread."""

    params = (
        (
            "diagnose",
            "KernelMeanEmbedding.fit",
            "LACExtraTreesClassifier.fit, theta told",
            "decision_path",
            "explain",
            "permutation_importance",
            "TableCoder.fit_encode",
        ),
        (2_000, 20_000),
    )
    param_names = ("function", "n_rows")
    timeout = 120

    def setup(self, function, n_rows):
        self.call = CALLS[function](Problem(n_rows, 10, 4))

    def time_call(self, function, n_rows):
        self.call()

    def peakmem_call(self, function, n_rows):
        self.call()


class ByClasses:
    """Tables of nodes or rows by classes, which grow with both."""

    params = (("predict_proba", "export_text", "to_sklearn_like"), (20, 200))
    param_names = ("function", "n_classes")
    timeout = 120

    def setup(self, function, n_classes):
        self.call = CALLS[function](Problem(5_000, 10, n_classes))

    def time_call(self, function, n_classes):
        self.call()

    def peakmem_call(self, function, n_classes):
        self.call()
