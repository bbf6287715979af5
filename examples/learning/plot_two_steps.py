"""
The two steps of a fit
======================

Step I grows shallow trees on labelled and unlabelled rows, and scores how new each unlabelled row looks. The rows with the highest
scores receive pseudo-labels: they become examples of the new class. Step II deepens the same trees on the labelled and the
pseudo-labelled rows. A single tree shows both steps.
"""

# %%
# The tree
# --------
# Nodes of Step I have thick frames; their "unlabelled" counts include all unlabelled rows. Nodes of Step II have thin dashed
# frames; they contain only labelled rows and rows with a pseudo-label.
import matplotlib.pyplot as plt
import numpy as np

from lacforest import LACForestClassifier
from lacforest.datasets import make_figure1
from lacforest.inspection import plot_tree

toy = make_figure1(random_state=0)
forest = LACForestClassifier(50, theta=toy.theta, gamma=0.1, random_state=0)
forest.fit(toy.X_labeled, toy.y_labeled, X_unlabeled=toy.X_unlabeled)
plot_tree(forest, 1, feature_names=["east", "north"], max_depth=3)
plt.show()

# %%
# Scores and pseudo-labels
# ------------------------
# The score of an unlabelled row is an average over all trees of Step I (Eqn 7 of the paper). The floor(theta * n_unlabeled) rows
# with the highest scores receive a pseudo-label, where theta is the share of new rows. Step II then refines the boundaries.
grid = np.stack(np.meshgrid(np.linspace(-3.5, 3.5, 200), np.linspace(-4, 4, 200)), axis=-1)
points = grid.reshape(-1, 2)
figure, axes = plt.subplots(1, 3, figsize=(12, 3.9), layout="constrained", sharey=True)
shown = {
    "Step I: average score": forest.novelty_score(points, stage="exploration"),
    "Step II: probability of new": forest.novelty_score(points),
}
for ax, (title, values) in zip(axes[[0, 2]], shown.items(), strict=True):
    mesh = ax.pcolormesh(
        grid[..., 0], grid[..., 1], values.reshape(200, 200), cmap="Oranges", vmin=0, vmax=1
    )
    ax.set_title(title)
figure.colorbar(mesh, ax=axes[2])
chosen = forest.pseudo_labels_
axes[1].scatter(*toy.X_unlabeled[~chosen].T, s=12, color="#707070", label="no pseudo-label")
axes[1].scatter(*toy.X_unlabeled[chosen].T, s=12, color="#D55E00", label="pseudo-labelled new")
axes[1].set_title("between the steps")
axes[1].legend(loc="lower left")

print(f"{chosen.sum()} of {len(chosen)} unlabelled rows received a pseudo-label;", end=" ")
print(f"{(toy.y_unlabeled[chosen] == -1).mean():.1%} of these are new")

# sphinx_gallery_thumbnail_number = 2
