"""
Accuracy as theta varies
========================

The paper's Figure 3 shows the accuracy of the forest for different values of theta, the share of new rows among the unlabelled ones.
This example repeats the experiment on digits, small enough to run in seconds, with the true theta, with an estimated theta, and
with a wrong one.
"""

# %%
# Each point is the mean over three random choices of hidden classes. ``lacforest experiments theta-sweep`` runs the
# full experiment.
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from lacforest import LACForestClassifier
from lacforest.inspection import ThetaSensitivityDisplay
from lacforest.metrics import accuracy_score
from lacforest.mixture import ThetaWarning
from lacforest.model_selection import make_augmented_split

# Where few rows are new, ``fit`` warns that there may be none. Silence these expected warnings.
warnings.simplefilter("ignore", ThetaWarning)

X, y = load_digits(return_X_y=True)
truths = np.array([0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8])
told, estimated, always_half = np.zeros((3, 3, len(truths)))
for seed in range(3):
    for i, theta in enumerate(truths):
        split = make_augmented_split(
            X, y, n_labeled=250, n_unlabeled=400, n_test=300, theta=theta, random_state=seed
        )
        for accuracies, given in ((told, theta), (estimated, "auto"), (always_half, 0.5)):
            forest = LACForestClassifier(40, theta=given, random_state=seed)
            forest.fit(split.X_labeled, split.y_labeled, X_unlabeled=split.X_unlabeled)
            accuracies[seed, i] = accuracy_score(
                split.y_test, forest.predict(split.X_test), known_classes=split.known, new_label=-1
            )

figure, ax = plt.subplots(figsize=(7, 4.2), layout="constrained")
ax.plot(truths, told.mean(axis=0), "o-", color="#0072B2", label="true θ")
ax.plot(truths, estimated.mean(axis=0), "s-", color="#D55E00", label="estimated θ")
ax.plot(truths, always_half.mean(axis=0), "^:", color="#707070", label="θ = 0.5 for all data")
ax.set(xlabel="true θ", ylabel="accuracy over known and new classes")
ax.legend()
plt.show()

# %%
# The effect on your own data
# ---------------------------
# ``ThetaSensitivityDisplay`` refits the forest for several values of theta across the interval, and shows how the share of rows
# called new changes.
split = make_augmented_split(X, y, n_labeled=250, n_unlabeled=400, theta=0.4, random_state=0)
forest = LACForestClassifier(40, random_state=0)
forest.fit(split.X_labeled, split.y_labeled, X_unlabeled=split.X_unlabeled)
ThetaSensitivityDisplay.from_estimator(forest, split.X_labeled, split.y_labeled, split.X_unlabeled)
plt.show()
