"""
A deep forest on images
=======================

Trees that split on single pixels use little of the structure of an image. The neural forest of the paper's Section 4 trains
an encoder and soft trees together, by a differentiable version of the augmented Gini impurity. It requires torch
(``pip install '.[deep]'``).
"""

# %%
# The data are handwritten digits as images of 8 × 8 pixels. Five of the ten classes are hidden from the labels. Both forests
# use the true theta, the share of new rows among the unlabelled ones; both can also estimate it.
import matplotlib.pyplot as plt
import numpy as np
import torch
from sklearn.datasets import load_digits

from lacforest import LACForestClassifier
from lacforest.metrics import augmented_scores
from lacforest.model_selection import make_augmented_split
from lacforest.neural import DeepLACForestClassifier, TrainingCurveDisplay

torch.set_num_threads(1)  # more threads do not help a network this small

X, y = load_digits(return_X_y=True)
split = make_augmented_split(
    X, y, n_labeled=400, n_unlabeled=500, n_test=300, theta=0.4, random_state=1
)


def as_images(rows):
    """Return rows of pixels as images with one channel and values in [0, 1]."""
    return (rows / 16).reshape(-1, 1, 8, 8).astype(np.float32)


# The paper trains for 500 epochs. With a large learning rate and small batches, 40 epochs are enough here.
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
# These are the results on one split, which is not a fair comparison; ``lacforest experiments deep`` runs a full experiment.
of_deep = augmented_scores(deep, as_images(split.X_test), split.y_test)
of_trees = augmented_scores(trees, split.X_test, split.y_test)
print(f"{'':<16} deep forest  forest on pixels")
for name in ("accuracy", "known_accuracy", "new_recall", "new_auc"):
    print(f"{name:<16} {of_deep[name]:11.3f} {of_trees[name]:17.3f}")

# %%
# The training curve shows that the cross entropy of the auxiliary predictor decreases first, followed by the augmented Gini
# impurity of the trees.
TrainingCurveDisplay.from_estimator(deep)
plt.show()

# %%
# The test images with the highest novelty scores (top) and with the lowest (bottom):
scores = deep.novelty_score(as_images(split.X_test))
order = np.argsort(scores)
figure, axes = plt.subplots(2, 8, figsize=(11, 3.4), layout="constrained")
for row, chosen in zip(axes, (order[::-1][:8], order[:8]), strict=True):
    for ax, index in zip(row, chosen, strict=True):
        ax.imshow(split.X_test[index].reshape(8, 8), cmap="gray_r")
        ax.set_title(f"a {y[split.test][index]}: {scores[index]:.2f}", fontsize="medium")
        ax.set(xticks=[], yticks=[])
figure.suptitle(
    f"highest and lowest novelty scores; known classes: {', '.join(map(str, split.known))}"
)
plt.show()

# sphinx_gallery_thumbnail_number = 2
