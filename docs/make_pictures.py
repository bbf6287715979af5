"""Create the plots of the documentation: ``python docs/make_pictures.py`` writes docs/_static/."""

import json
import subprocess
import tempfile
from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from lacforest import LACForestClassifier
from lacforest.datasets import make_figure1
from lacforest.inspection import (
    ConfusionDisplay,
    DecisionRegionDisplay,
    NoveltyHistogramDisplay,
    OSCRDisplay,
    ThetaSensitivityDisplay,
    plot_tree,
)
from lacforest.mixture import RankMixture, RatioCurveDisplay
from lacforest.model_selection import make_augmented_split

HERE = Path(__file__).parent / "_static"
# Width of a phone, and how many pixels of a picture its screen has for one of the page.
_PHONE, _SHARPNESS = 390, 1.5


def ratio_curves() -> None:
    """Plot a ratio curve that determines theta well (all pixels) and one that does not (three)."""
    X, y = load_digits(return_X_y=True)
    split = make_augmented_split(
        X, y, n_labeled=350, n_unlabeled=500, n_test=350, theta=0.4, random_state=0
    )
    figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained", sharey=True)
    titles = ("64 pixels, true θ = 0.4", "three pixels, true θ = 0.4")
    for axis, columns, title in zip(axes, (slice(None), [20, 36, 42]), titles, strict=True):
        estimator = RankMixture(random_state=0)
        estimator.fit(split.X_labeled[:, columns], split.X_unlabeled[:, columns])
        RatioCurveDisplay.from_estimator(estimator, ax=axis)
        axis.set_title(title)
    axes[1].set_ylabel("")
    figure.savefig(HERE / "ratio-curve.png", dpi=110)


def figure_1() -> None:
    """Plot the paper's Figure 1: decision regions by plain and by augmented Gini impurity."""
    toy = make_figure1(random_state=0)
    # A minimum of five rows per leaf keeps single unusual rows from forming regions of their own.
    gini = LACForestClassifier(min_samples_leaf=5, random_state=0)
    gini.fit(toy.X_labeled, toy.y_labeled)
    augmented = LACForestClassifier(theta=toy.theta, min_samples_leaf=5, random_state=0)
    augmented.fit(toy.X_labeled, toy.y_labeled, X_unlabeled=toy.X_unlabeled)
    titles = ("plain random forest", "lacforest")
    # Side by side, and one below the other for phones.
    for shape, size, dpi, name in (
        ((1, 2), (10, 4.2), 110, "figure-1"),
        ((2, 1), (4.2, 6.6), 150, "figure-1-phone"),
    ):
        figure, axes = plt.subplots(*shape, figsize=size, layout="constrained", sharey=True)
        for axis, forest, title in zip(axes, (gini, augmented), titles, strict=True):
            DecisionRegionDisplay.from_estimator(
                forest, toy.X_labeled, toy.y_labeled, X_unlabeled=toy.X_unlabeled, ax=axis
            )
            axis.set_title(title)
        (axes[1].set_ylabel if shape == (1, 2) else axes[0].set_xlabel)("")
        figure.savefig(HERE / f"{name}.png", dpi=dpi)


def displays() -> None:
    """Plot each of the other displays, on digits with half of the classes hidden."""
    X, y = load_digits(return_X_y=True)
    split = make_augmented_split(
        X, y, n_labeled=350, n_unlabeled=500, n_test=400, theta=0.4, random_state=0
    )
    fitted_on = (split.X_labeled, split.y_labeled, split.X_unlabeled)
    forest = LACForestClassifier(random_state=0).fit(*fitted_on[:2], X_unlabeled=fitted_on[2])
    test = (split.X_test, split.y_test)
    drawn = {
        "novelty-histogram": NoveltyHistogramDisplay.from_estimator(forest, *test),
        "confusion": ConfusionDisplay.from_estimator(forest, *test),
        "oscr": OSCRDisplay.from_estimator(forest, *test),
        "theta-sensitivity": ThetaSensitivityDisplay.from_estimator(
            forest, *fitted_on, X_test=split.X_test
        ),
    }
    for name, display in drawn.items():
        display.figure_.savefig(HERE / f"{name}.png")


def one_tree() -> None:
    """Plot the upper part of a tree, with nodes of both steps."""
    toy = make_figure1(random_state=0)
    forest = LACForestClassifier(10, theta=toy.theta, gamma=0.1, random_state=0)
    forest.fit(toy.X_labeled, toy.y_labeled, X_unlabeled=toy.X_unlabeled)
    boxes = plot_tree(forest, 1, max_depth=3, feature_names=["east", "north"])
    boxes[0].figure.savefig(HERE / "plot-tree.png", dpi=100)


def training_curve() -> None:
    """Plot the training curve of the deep forest in docs/neural.rst; needs the extra [deep]."""
    from lacforest.neural import DeepLACForestClassifier, TrainingCurveDisplay

    X, y = load_digits(return_X_y=True)
    sizes = {"n_labeled": 500, "n_unlabeled": 600, "n_test": 300}
    split = make_augmented_split(X, y, hidden=[1, 4, 7, 9], theta=0.4, random_state=0, **sizes)
    forest = DeepLACForestClassifier(
        theta=0.4,
        epochs=200,
        learning_rate=0.1,
        batch_size=128,
        early_stopping=True,
        patience=5,
        random_state=0,
        device="cpu",
    ).fit(split.X_labeled, split.y_labeled, X_unlabeled=split.X_unlabeled)
    TrainingCurveDisplay.from_estimator(forest).figure_.savefig(HERE / "training-curve.png")


def reliability() -> None:
    """Plot the share of new rows against the mean score, from the committed results."""
    lines = (HERE.parent / "results" / "decisions.jsonl").read_text(encoding="utf-8").splitlines()
    draws = [entry["result"] for entry in map(json.loads, lines[1:]) if "theta .3" in entry["key"]]
    figure, axis = plt.subplots(figsize=(4.6, 4.2), layout="constrained")
    axis.plot([0, 1], [0, 1], "k:", lw=1)
    bins = [draw["probability, raw"] for draw in draws]
    points = np.array(
        [
            [
                np.mean([found[f"{kind} {b}"] for found in bins if f"said {b}" in found])
                for kind in ("said", "true")
            ]
            for b in range(10)
        ]
    )
    axis.plot(*points.T, marker="o", color="tab:orange", label="LACExtraTreesClassifier")
    axis.set(xlabel="mean novelty score", ylabel="share of new rows", xlim=(0, 1), ylim=(0, 1.02))
    axis.grid(alpha=0.3)
    axis.legend(loc="upper left")
    figure.savefig(HERE / "reliability.png", dpi=110)


def report() -> None:
    """Photograph the report of ``lacforest demo`` for light and dark pages; needs chromium."""
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run(["lacforest", "demo"], cwd=folder, check=True, capture_output=True)
        page = Path(folder, "lacforest-demo", "report.html").as_uri()
        # A window cannot be as narrow as a phone, a frame in it can.
        narrow = Path(folder, "narrow.html")
        style = f"border:0;width:{_PHONE}px;height:840px"
        narrow.write_text(f'<body style="margin:0"><iframe src="{page}" style="{style}">')
        for scheme, mode in enumerate(("dark", "light")):
            _photograph(page, 1280, scheme, HERE / f"report-{mode}.png")
            target = HERE / f"report-phone-{mode}.png"
            _photograph(narrow.as_uri(), 500, scheme, target)
            plt.imsave(target, plt.imread(target)[:, : int(_PHONE * _SHARPNESS)])


def _photograph(address: str, width: int, scheme: int, target: Path) -> None:
    sharpness = _SHARPNESS if width < 600 else 1
    options = (
        "--headless",
        "--no-sandbox",
        "--hide-scrollbars",
        f"--blink-settings=preferredColorScheme={scheme}",
        f"--window-size={width},840",
        f"--force-device-scale-factor={sharpness}",
        f"--screenshot={target}",
    )
    subprocess.run(["chromium", *options, address], check=True, capture_output=True)


if __name__ == "__main__":
    report()
    ratio_curves()
    figure_1()
    displays()
    one_tree()
    training_curve()
    reliability()
