"""The public functions that take a table, each ready to be called once; see growth.py."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.growth_problem import CALLS, Problem, Ready, call, small_forest

# ---------------------------------------------------------------------------- fits and theta


@call("LACForestClassifier.fit, theta told")
def _(problem: Problem) -> Ready:
    from lacforest import LACForestClassifier

    return lambda: small_forest(LACForestClassifier).fit(**problem.fit)


@call("LACForestClassifier.fit, theta estimated")
def _(problem: Problem) -> Ready:
    from lacforest import LACForestClassifier

    return lambda: small_forest(LACForestClassifier, theta="auto").fit(**problem.fit)


@call("LACExtraTreesClassifier.fit, theta told")
def _(problem: Problem) -> Ready:
    from lacforest import LACExtraTreesClassifier

    return lambda: small_forest(LACExtraTreesClassifier).fit(**problem.fit)


@call("LACExtraTreesClassifier.fit, theta estimated")
def _(problem: Problem) -> Ready:
    from lacforest import LACExtraTreesClassifier

    return lambda: small_forest(LACExtraTreesClassifier, theta="auto").fit(**problem.fit)


def _register_with_options() -> None:
    def prepare(options: dict[str, Any]) -> Callable[[Problem], Ready]:
        def ready(problem: Problem) -> Ready:
            from lacforest import LACForestClassifier

            fit = dict(problem.fit)
            if "categorical_features" in options:
                # As many categories as a tenth of the rows, at most what a column may have.
                for name in ("X", "X_unlabeled"):
                    fit[name] = problem.in_categories(fit[name])
            return lambda: small_forest(LACForestClassifier, **options).fit(**fit)

        return ready

    CALLS["LACForestClassifier.fit, categories"] = prepare({"categorical_features": [0]})
    CALLS["LACForestClassifier.fit, oob_score"] = prepare({"oob_score": True, "bootstrap": True})


_register_with_options()


def _register_baselines() -> None:
    def prepare(name: str) -> Callable[[Problem], Ready]:
        def ready(problem: Problem) -> Ready:
            from lacforest import baselines

            kind = getattr(baselines, name)
            options = {"theta": 0.25} if "theta" in kind().get_params() else {}
            return lambda: kind(**options).fit(**problem.fit)

        return ready

    for name in ("GLAC", "EULAC", "EVM", "PACIsolationForest", "OSNN", "LACUSVM", "OVRSVM"):
        CALLS[f"{name}Classifier.fit"] = prepare(f"{name}Classifier")


_register_baselines()


def _register_theta() -> None:
    def prepare(name: str, options: dict[str, Any]) -> Callable[[Problem], Ready]:
        def ready(problem: Problem) -> Ready:
            from lacforest import mixture

            estimator = getattr(mixture, name)(random_state=0, **options)
            if name == "ShareMixture":
                return lambda: estimator.fit(problem.X, problem.y, problem.U)
            return lambda: estimator.fit(problem.X, problem.U)

        return ready

    for name in ("RankMixture", "ShareMixture", "BestBin", "KernelMeanEmbedding"):
        CALLS[f"{name}.fit"] = prepare(name, {})


_register_theta()


@call("estimate_theta")
def _(problem: Problem) -> Ready:
    from lacforest.mixture import estimate_theta

    return lambda: estimate_theta(problem.X, problem.U, random_state=0)


@call("diagnose")
def _(problem: Problem) -> Ready:
    from lacforest.mixture import diagnose

    return lambda: diagnose(problem.X, problem.U, problem.y, random_state=0)


# ---------------------------------------------------------------------------- a fitted forest


def _register_methods() -> None:
    def prepare(name: str) -> Callable[[Problem], Ready]:
        def ready(problem: Problem) -> Ready:
            method, rows = getattr(problem.forest, name), problem.table
            return lambda: method(rows)

        return ready

    for name in ("predict_proba", "novelty_score", "apply", "decision_path"):
        CALLS[name] = prepare(name)


_register_methods()


@call("save and load")
def _(problem: Problem) -> Ready:
    forest = problem.forest

    def call() -> None:
        with tempfile.TemporaryDirectory() as folder:
            forest.save(Path(folder) / "forest.lac")
            type(forest).load(Path(folder) / "forest.lac")

    return call


@call("export_text")
def _(problem: Problem) -> Ready:
    return problem.forest.export_text  # type: ignore[no-any-return]


@call("to_sklearn_like")
def _(problem: Problem) -> Ready:
    from lacforest.export import to_sklearn_like

    forest = problem.forest
    return lambda: to_sklearn_like(forest)


@call("to_onnx")
def _(problem: Problem) -> Ready:
    from lacforest.export import to_onnx

    forest = problem.forest
    return lambda: to_onnx(forest)


# ---------------------------------------------------------------------------- splits and measures


@call("make_augmented_split")
def _(problem: Problem) -> Ready:
    from lacforest.model_selection import make_augmented_split

    table, codes, n_rows = problem.table, problem.codes, problem.n_rows
    return lambda: make_augmented_split(
        table, codes, n_labeled=n_rows // 4, n_unlabeled=n_rows // 4, on_shortage="shrink"
    )


@call("AugmentedKFold.split")
def _(problem: Problem) -> Ready:
    from lacforest.model_selection import AugmentedKFold

    table, marked = problem.table, problem.marked
    folds = AugmentedKFold(unlabeled_label=-1, random_state=0)
    return lambda: list(folds.split(table, marked))


@call("make_augmented_scorer")
def _(problem: Problem) -> Ready:
    from lacforest.model_selection import make_augmented_scorer

    forest, table, marked = problem.forest, problem.table, problem.marked
    forest.set_params(unlabeled_label=-1)
    scorer = make_augmented_scorer(0.25, unlabeled_label=-1)
    return lambda: scorer(forest, table, marked)


@call("augmented_scores")
def _(problem: Problem) -> Ready:
    from lacforest.metrics import augmented_scores

    forest, table, truth = problem.forest, problem.table, problem.truth
    return lambda: augmented_scores(forest, table, truth)


@call("oscr_curve")
def _(problem: Problem) -> Ready:
    from lacforest.metrics import oscr_curve

    forest, truth = problem.forest, problem.truth
    proba = forest.predict_proba(problem.table)
    return lambda: oscr_curve(truth, proba, known_classes=forest.known_classes_)


# ---------------------------------------------------------------------------- inspection


@call("column_shift")
def _(problem: Problem) -> Ready:
    from lacforest.inspection import column_shift

    forest = problem.forest
    return lambda: column_shift(forest)


@call("new_versus_known_importances")
def _(problem: Problem) -> Ready:
    from lacforest.inspection import new_versus_known_importances

    forest = problem.forest
    return lambda: new_versus_known_importances(forest)


@call("permutation_importance")
def _(problem: Problem) -> Ready:
    from lacforest.inspection import permutation_importance

    forest, table, truth = problem.forest, problem.table, problem.truth
    return lambda: permutation_importance(forest, table, truth, n_repeats=1, random_state=0)


@call("shap_values")
def _(problem: Problem) -> Ready:
    from lacforest.inspection import shap_values

    forest, table = problem.forest, problem.table
    return lambda: shap_values(forest, table)


@call("explain")
def _(problem: Problem) -> Ready:
    from lacforest.inspection import explain

    forest, table = problem.forest, problem.table
    return lambda: explain(forest, table)


def _without_screen() -> None:
    import matplotlib

    matplotlib.use("agg")


@call("NoveltyHistogramDisplay")
def _(problem: Problem) -> Ready:
    from lacforest.inspection import NoveltyHistogramDisplay

    _without_screen()
    forest, table, truth = problem.forest, problem.table, problem.truth
    return lambda: NoveltyHistogramDisplay.from_estimator(forest, table, truth)


@call("ConfusionDisplay")
def _(problem: Problem) -> Ready:
    from lacforest.inspection import ConfusionDisplay

    _without_screen()
    forest, table, truth = problem.forest, problem.table, problem.truth
    return lambda: ConfusionDisplay.from_estimator(forest, table, truth)


@call("OSCRDisplay")
def _(problem: Problem) -> Ready:
    from lacforest.inspection import OSCRDisplay

    _without_screen()
    forest, table, truth = problem.forest, problem.table, problem.truth
    return lambda: OSCRDisplay.from_estimator(forest, table, truth)


@call("DecisionRegionDisplay")
def _(problem: Problem) -> Ready:
    from lacforest import LACForestClassifier
    from lacforest.inspection import DecisionRegionDisplay

    _without_screen()
    X, U = problem.X[:, :2], problem.U[:, :2]
    forest = small_forest(LACForestClassifier).fit(X, problem.y, X_unlabeled=U)
    return lambda: DecisionRegionDisplay.from_estimator(forest, X, problem.y, X_unlabeled=U)


@call("ThetaSensitivityDisplay")
def _(problem: Problem) -> Ready:
    from lacforest.inspection import ThetaSensitivityDisplay

    _without_screen()
    forest = problem.forest
    return lambda: ThetaSensitivityDisplay.from_estimator(
        forest, problem.X, problem.y, problem.U, thetas=[0.2, 0.3]
    )


@call("write_report")
def _(problem: Problem) -> Ready:
    from lacforest.report import write_report

    forest, table, truth = problem.forest, problem.table, problem.truth

    def call() -> None:
        with tempfile.TemporaryDirectory() as folder:
            write_report(Path(folder) / "report.html", forest, table, truth)

    return call


# ---------------------------------------------------------------------------- tables of text


@call("TableCoder.fit_encode")
def _(problem: Problem) -> Ready:
    from lacforest.tabular import TableCoder

    frame = problem.frame
    unlabeled = frame.drop(columns="kind")
    return lambda: TableCoder().fit_encode(frame, "kind", unlabeled)


@call("read_table")
def _(problem: Problem) -> Ready:
    from lacforest.tabular import read_table

    folder = tempfile.TemporaryDirectory()
    path = Path(folder.name) / "table.csv"
    problem.frame.to_csv(path, index=False)

    def call() -> None:
        read_table(path)
        folder.cleanup()

    return call


# ---------------------------------------------------------------------------- after the fit


@call("adapt")
def _(problem: Problem) -> Ready:
    forest, batch = problem.forest, problem.U
    return lambda: forest.adapt(batch)


@call("NoveltyCalibrator.fit and select")
def _(problem: Problem) -> Ready:
    from lacforest import LACForestClassifier
    from lacforest.calibration import NoveltyCalibrator

    calibrator = NoveltyCalibrator(small_forest(LACForestClassifier), random_state=0)

    def call() -> None:
        calibrator.fit(**problem.fit)
        calibrator.select_unlabeled(fdr=0.1)

    return call


@call("NewClassGroups.fit and describe")
def _(problem: Problem) -> Ready:
    from lacforest.discovery import NewClassGroups

    flagged, X, y = problem.U, problem.X, problem.y
    return lambda: NewClassGroups().fit(flagged, X_labeled=X, y_labeled=y).describe()


@call("TabularModel.fit_predict")
def _(problem: Problem) -> Ready:
    from lacforest import LACForestClassifier
    from lacforest.tabular import TabularModel

    frame = problem.frame
    deployed = frame.drop(columns="kind")
    model = TabularModel(small_forest(LACForestClassifier))
    return lambda: model.fit_predict(frame, "kind", deployed)
