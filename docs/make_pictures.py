"""The pictures of the documentation: ``python docs/make_pictures.py`` writes docs/_static/."""

from pathlib import Path

import matplotlib

matplotlib.use("Agg")
import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from lacforest.mixture import RankMixture, RatioCurveDisplay
from lacforest.model_selection import make_augmented_split

HERE = Path(__file__).parent / "_static"


def ratio_curves() -> None:
    """Digits, where theta is plain to see, and digits so noisy that it is not."""
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


if __name__ == "__main__":
    ratio_curves()
