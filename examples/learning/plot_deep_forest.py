"""
A deep forest on images
=======================

Trees that cut single pixels see little of an image. The neural forest of the paper's Section 4 learns an encoder and soft
trees together, by augmented Gini impurity made differentiable. It needs torch (``pip install '.[deep]'``).
"""

# %%
# Handwritten digits as images of 8 × 8 pixels, five of ten classes hidden from the labels. Both forests are told theta;
# estimating it works for both as well.
import matplotlib.pyplot as plt
import numpy as np
import torch
from sklearn.datasets import load_digits

from lacforest import LACForestClassifier
from lacforest.metrics import augmented_scores
from lacforest.model_selection import make_augmented_split
from lacforest.neural import DeepLACForestClassifier, TrainingCurveDisplay

torch.set_num_threads(1)  # a network this small gains nothing from more

X, y = load_digits(return_X_y=True)
split = make_augmented_split(
    X, y, n_labeled=400, n_unlabeled=500, n_test=300, theta=0.4, random_state=1
)


def as_images(rows):
    """Rows of pixels as images with one channel, values up to 1."""
    return (rows / 16).reshape(-1, 1, 8, 8).astype(np.float32)


# The paper trains for 500 epochs. A large learning rate and small batches do with 40 of them here.
deep = DeepLACForestClassifier(
    n_estimators=3,
    theta=0.4,
    epochs=40,
    batch_size=64,
    learning_rate=0.1,
    weight_decay=5e-4,
    device="cpu",
    random_state=0,
)
deep.fit(as_images(split.X_labeled), split.y_labeled, X_unlabeled=as_images(split.X_unlabeled))
trees = LACForestClassifier(theta=0.4, random_state=0)
trees.fit(split.X_labeled, split.y_labeled, X_unlabeled=split.X_unlabeled)

# %%
# One split is not a comparison: ``lacforest experiments deep`` runs one. Here is how each does on this split.
of_deep = augmented_scores(deep, as_images(split.X_test), split.y_test)
of_trees = augmented_scores(trees, split.X_test, split.y_test)
print(f"{'':<16} deep forest  forest on pixels")
for name in ("accuracy", "known_accuracy", "new_recall", "new_auc"):
    print(f"{name:<16} {of_deep[name]:11.3f} {of_trees[name]:17.3f}")

# %%
# How it learnt: cross entropy of the auxiliary predictor falls first, augmented Gini impurity of the trees follows.
TrainingCurveDisplay.from_estimator(deep)
plt.show()

# %%
# What it takes for newest, and for least new.
scores = deep.novelty_score(as_images(split.X_test))
order = np.argsort(scores)
figure, axes = plt.subplots(2, 8, figsize=(11, 3.4), layout="constrained")
for row, chosen in zip(axes, (order[::-1][:8], order[:8]), strict=True):
    for ax, index in zip(row, chosen, strict=True):
        ax.imshow(split.X_test[index].reshape(8, 8), cmap="gray_r")
        ax.set_title(f"a {y[split.test][index]}: {scores[index]:.2f}", fontsize="medium")
        ax.set(xticks=[], yticks=[])
figure.suptitle(f"newest and least new; known are {', '.join(map(str, split.known))}")
plt.show()

# sphinx_gallery_thumbnail_number = 2
