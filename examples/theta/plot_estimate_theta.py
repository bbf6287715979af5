"""
Estimating the share of new rows
================================

Theta is the share of unlabelled rows that belong to classes nobody labelled. It is estimated from the scores of a forest that
separates unlabelled from labelled rows. The ratio curve shows what the estimate is based on.
"""

# %%
# Rows are sorted from most to least known-looking. For each prefix of that order, the curve shows the share of all unlabelled
# rows in the prefix, divided by the share of all labelled rows in it. As long as the prefix contains only known rows, this ratio
# is 1 - theta. With all 64 pixels, the curve is flat until it reaches the new rows. With three pixels, new and known digits
# overlap everywhere, and the interval is wide.
import matplotlib.pyplot as plt
from sklearn.datasets import load_digits

from lacforest.mixture import BestBin, KernelMeanEmbedding, RankMixture, RatioCurveDisplay, diagnose
from lacforest.model_selection import make_augmented_split

X, y = load_digits(return_X_y=True)
split = make_augmented_split(X, y, n_labeled=350, n_unlabeled=500, theta=0.4, random_state=0)
three_pixels = [20, 36, 42]

figure, axes = plt.subplots(1, 2, figsize=(10, 4), layout="constrained", sharey=True)
for ax, columns, title in zip(
    axes, (slice(None), three_pixels), ("64 pixels", "three pixels"), strict=True
):
    estimator = RankMixture(random_state=0)
    estimator.fit(split.X_labeled[:, columns], split.X_unlabeled[:, columns])
    RatioCurveDisplay.from_estimator(estimator, ax=ax)
    ax.set_title(f"{title}, true θ = 0.4")
plt.show()

# %%
# Several estimators on several splits
# ------------------------------------
# ``RankMixture`` is the default; ``KernelMeanEmbedding`` is the method of the paper. Where few rows are new, all estimators tend
# to overestimate theta; the intervals show how large the error may be. (The intervals of ``KernelMeanEmbedding`` and
# ``BestBin`` do not cover new rows whose scores overlap with those of known rows.)
estimators = {
    "rank mixture": RankMixture,
    "best bin": BestBin,
    "kernel mean": KernelMeanEmbedding,
}
truths = (0.1, 0.3, 0.5, 0.7)
figure, ax = plt.subplots(figsize=(7, 4.5), layout="constrained")
ax.plot([0, 0.8], [0, 0.8], color="#707070", lw=1, ls=":", label="truth")
for shift, (name, make) in enumerate(estimators.items()):
    for i, theta in enumerate(truths):
        one = make_augmented_split(
            X, y, n_labeled=350, n_unlabeled=500, theta=theta, random_state=1
        )
        found = make(random_state=0).fit(one.X_labeled, one.X_unlabeled)
        place = theta + 0.015 * (shift - 1)
        color = ("#0072B2", "#009E73", "#CC79A7")[shift]
        ax.plot(place, found.theta_, "o", color=color, label=name if i == 0 else None)
        interval = getattr(found, "interval_", None)
        if interval is not None:
            ax.vlines(place, *interval, color=color)
ax.set(xlabel="true θ", ylabel="estimate and 90 % interval")
ax.legend()
plt.show()

# %%
# Do the data support the estimate?
# ---------------------------------
# ``diagnose`` checks the assumptions behind the estimate:
print(diagnose(split.X_labeled, split.X_unlabeled, split.y_labeled, random_state=0))

# sphinx_gallery_thumbnail_number = 1
