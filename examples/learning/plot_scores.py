"""
Reading scores, and choosing a threshold
========================================

``predict`` calls a row new if no known class is more probable. If a person looks at every flagged row, or if a missed
one is expensive, the threshold is yours to choose.
"""

# %%
# Digits with five of ten classes hidden from the labels.
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
# All measures at once, on test rows whose labels are known:
for name, value in augmented_scores(forest, split.X_test, split.y_test).items():
    print(f"{name:<22} {value:.3f}")

# %%
# Three rules for a threshold
# ---------------------------
# Each needs something that is at hand in deployment. The first needs nothing. The second asks for the share of known
# rows that may be flagged, and reads the threshold off labelled rows *that were not fitted on*. The third asks how many
# rows somebody can look at.
rng = np.random.default_rng(0)
held_out = rng.random(len(split.X_labeled)) < 0.3
cautious = LACForestClassifier(random_state=0)
cautious.fit(split.X_labeled[~held_out], split.y_labeled[~held_out], X_unlabeled=split.X_unlabeled)
scores = cautious.novelty_score(split.X_test)
thresholds = {
    "more new than anything known": None,
    "flag 2 % of known rows": np.quantile(cautious.novelty_score(split.X_labeled[held_out]), 0.98),
    "look at 100 rows": np.sort(scores)[-100],
}
is_new = split.y_test == -1
print(f"{'rule':<30} flagged  of new rows  of known rows")
for rule, threshold in thresholds.items():
    flagged = cautious.predict(split.X_test) == -1 if threshold is None else scores >= threshold
    print(
        f"{rule:<30} {flagged.sum():7d} {flagged[is_new].mean():12.1%} {flagged[~is_new].mean():14.1%}"
    )
