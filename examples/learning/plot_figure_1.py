"""
What plain Gini impurity cannot see
===================================

Two classes are labelled, blue on the left and green on the right. In deployment both of them occur, together with a third
group above them that nobody labelled. This reproduces the idea of the paper's Figure 1 on our own data.
"""

# %%
# A random forest has no reason to split on the second feature, because the labelled classes do not differ in it. The
# augmented Gini impurity counts unlabelled rows as well. Where there are more unlabelled rows than the labelled rows explain,
# the surplus is attributed to a new class.
import matplotlib.pyplot as plt

from lacforest import LACForestClassifier
from lacforest.datasets import make_figure1
from lacforest.inspection import DecisionRegionDisplay

toy = make_figure1(random_state=0)

# A minimum of five rows per leaf keeps single unusual rows from forming regions of their own.
plain = LACForestClassifier(min_samples_leaf=5, random_state=0)
plain.fit(toy.X_labeled, toy.y_labeled)
augmented = LACForestClassifier(theta=toy.theta, min_samples_leaf=5, random_state=0)
augmented.fit(toy.X_labeled, toy.y_labeled, X_unlabeled=toy.X_unlabeled)

figure, axes = plt.subplots(1, 2, figsize=(10, 4.2), layout="constrained", sharey=True)
for ax, forest, title in zip(
    axes,
    (plain, augmented),
    ("Gini impurity, labelled rows alone", "augmented Gini impurity"),
    strict=True,
):
    DecisionRegionDisplay.from_estimator(
        forest, toy.X_labeled, toy.y_labeled, X_unlabeled=toy.X_unlabeled, ax=ax
    )
    ax.set_title(title)

# %%
# The true labels of the unlabelled rows of this synthetic dataset are available. No classifier can be better than the true
# posterior probabilities.
best = toy.posterior(toy.X_unlabeled).argmax(axis=1)
labels = [-1, 0, 1]
truth = toy.y_unlabeled
print(f"plain forest      {(plain.predict(toy.X_unlabeled) == truth).mean():.3f}")
print(f"augmented forest  {(augmented.predict(toy.X_unlabeled) == truth).mean():.3f}")
print(
    f"true posterior    {sum(labels[b] == t for b, t in zip(best, truth, strict=True)) / len(truth):.3f}"
)

# sphinx_gallery_thumbnail_number = 1
