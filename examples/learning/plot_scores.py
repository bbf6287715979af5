"""
Interpreting scores and choosing a threshold
============================================

``predict`` calls a row new if no known class is more probable. If a person reviews every flagged row, or if missing a new row is
expensive, choose a threshold on the novelty score instead.
"""

# %%
# The data are handwritten digits with five of the ten classes hidden from the labels. The plots show the distribution of
# novelty scores, the confusion matrix, and the OSCR (open-set classification rate) curve: for all thresholds, the share of
# known rows that are classified correctly against the share of new rows that are taken for known.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from lacforest import LACForestClassifier
from lacforest.inspection import ConfusionDisplay, NoveltyHistogramDisplay, OSCRDisplay
from lacforest.metrics import augmented_scores
from lacforest.model_selection import make_augmented_split

X, y = load_digits(return_X_y=True)
split = make_augmented_split(
    X, y, n_labeled=350, n_unlabeled=500, n_test=400, theta=0.4, random_state=0
)
forest = LACForestClassifier(random_state=0)
forest.fit(split.X_labeled, split.y_labeled, X_unlabeled=split.X_unlabeled)

figure, axes = plt.subplots(1, 3, figsize=(14, 4.2), layout="constrained")
NoveltyHistogramDisplay.from_estimator(forest, split.X_test, split.y_test, ax=axes[0])
ConfusionDisplay.from_estimator(forest, split.X_test, split.y_test, ax=axes[1])
OSCRDisplay.from_estimator(forest, split.X_test, split.y_test, ax=axes[2])
plt.show()

# %%
# All metrics on the test rows, whose true labels are available here:
for name, value in augmented_scores(forest, split.X_test, split.y_test).items():
    print(f"{name:<22} {value:.3f}")

# %%
# Three rules for a threshold
# ---------------------------
# Each rule needs only information that is available in deployment. The first rule is that of ``predict``. The second rule
# flags a given share of the known rows: the threshold is a quantile of the scores of labelled rows *that were not used in the
# fit*. The third rule flags as many rows as somebody can review.
rng = np.random.default_rng(0)
held_out = rng.random(len(split.X_labeled)) < 0.3
cautious = LACForestClassifier(random_state=0)
cautious.fit(split.X_labeled[~held_out], split.y_labeled[~held_out], X_unlabeled=split.X_unlabeled)
scores = cautious.novelty_score(split.X_test)
thresholds = {
    "new is the most probable": None,
    "flag 2 % of known rows": np.quantile(cautious.novelty_score(split.X_labeled[held_out]), 0.98),
    "review 100 rows": np.sort(scores)[-100],
}
is_new = split.y_test == -1
print(f"{'rule':<30} flagged  of new rows  of known rows")
for rule, threshold in thresholds.items():
    flagged = cautious.predict(split.X_test) == -1 if threshold is None else scores >= threshold
    print(
        f"{rule:<30} {flagged.sum():7d} {flagged[is_new].mean():12.1%} {flagged[~is_new].mean():14.1%}"
    )
