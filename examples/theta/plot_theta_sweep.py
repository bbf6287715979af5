"""
From few new rows to many
=========================

The paper's Figure 3 asks how the forest does as theta moves. Here is the same question on digits, small enough to run
in seconds: theta told, theta estimated, and what happens if theta is simply wrong.
"""

# %%
# Every point is the mean over three random choices of hidden classes. ``lacforest experiments theta-sweep`` runs the
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

# Where few rows are new, the forest warns that it cannot tell whether any is. That is part of the answer.
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
ax.plot(truths, told.mean(axis=0), "o-", color="#0072B2", label="θ told")
ax.plot(truths, estimated.mean(axis=0), "s-", color="#D55E00", label="θ estimated")
ax.plot(truths, always_half.mean(axis=0), "^:", color="#707070", label="θ = 0.5 whatever the data")
ax.set(xlabel="true θ", ylabel="accuracy over known classes and new")
ax.legend()
plt.show()

# %%
# Does it matter for my data?
# ---------------------------
# ``ThetaSensitivityDisplay`` refits with thetas across the interval, and shows how the share of rows called new follows.
split = make_augmented_split(X, y, n_labeled=250, n_unlabeled=400, theta=0.4, random_state=0)
forest = LACForestClassifier(40, random_state=0)
forest.fit(split.X_labeled, split.y_labeled, X_unlabeled=split.X_unlabeled)
ThetaSensitivityDisplay.from_estimator(forest, split.X_labeled, split.y_labeled, split.X_unlabeled)
plt.show()
