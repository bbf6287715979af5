"""
Why is this row new?
====================

A forest calls a handwritten digit new if it seems to belong to none of the labelled classes. Which pixels are responsible?
Feature importances answer this for the forest as a whole, and Shapley values for a single row.
"""

# %%
# The forest as a whole
# ---------------------
# ``feature_importances_`` counts the impurity reduction of all splits. ``new_versus_known_importances`` counts only how much
# the splits separate new from known rows.
import matplotlib.pyplot as plt
import numpy as np
import shap
from sklearn.datasets import load_digits

from lacforest import LACForestClassifier
from lacforest.export import to_sklearn_like
from lacforest.inspection import new_versus_known_importances
from lacforest.model_selection import make_augmented_split

X, y = load_digits(return_X_y=True)
split = make_augmented_split(
    X, y, n_labeled=350, n_unlabeled=500, n_test=350, theta=0.4, random_state=0
)
forest = LACForestClassifier(random_state=0)
forest.fit(split.X_labeled, split.y_labeled, X_unlabeled=split.X_unlabeled)
print("known:", *split.known, "   hidden from the labels:", *split.hidden)

figure, axes = plt.subplots(1, 2, figsize=(8, 3.8), layout="constrained")
for ax, values, title in (
    (axes[0], forest.feature_importances_, "all splits"),
    (axes[1], new_versus_known_importances(forest), "new versus known"),
):
    ax.imshow(values.reshape(8, 8), cmap="Oranges", vmin=0)
    ax.set(title=title, xticks=[], yticks=[])
plt.show()

# %%
# One row
# -------
# ``to_sklearn_like`` converts the trees for SHAP's TreeExplainer. The Shapley values of a row are additive: the expected
# probability of "new" plus the contributions of all pixels is the probability of "new" that the forest predicts.
explainer = shap.TreeExplainer(to_sklearn_like(forest))
new = forest.new_class_index_
values = explainer.shap_values(split.X_test)[..., new]
base = explainer.expected_value[new]
scores = forest.novelty_score(split.X_test)
print(f"largest difference: {np.abs(base + values.sum(axis=1) - scores).max():.1e}")

# %%
# Three new digits with high scores and three known digits with low scores. Orange pixels increase the probability of
# "new", purple pixels decrease it.
digits = y[split.test]
is_new = np.isin(digits, split.hidden)
shown = [
    *np.flatnonzero(is_new & (scores > 0.8))[:3],
    *np.flatnonzero(~is_new & (scores < 0.2))[:3],
]
limit = np.abs(values[shown]).max()
figure, axes = plt.subplots(2, 6, figsize=(12, 4.4), layout="constrained")
for column, row in enumerate(shown):
    axes[0, column].imshow(split.X_test[row].reshape(8, 8), cmap="gray_r")
    axes[0, column].set_title(f"a {digits[row]}: novelty {scores[row]:.2f}", fontsize="medium")
    mesh = axes[1, column].imshow(-values[row].reshape(8, 8), cmap="PuOr", vmin=-limit, vmax=limit)
for ax in axes.flat:
    ax.set(xticks=[], yticks=[])
plt.show()

# sphinx_gallery_thumbnail_number = 2
