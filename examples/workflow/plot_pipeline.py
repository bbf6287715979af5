"""
Tuning a pipeline without labels of the new class
=================================================

There are no labels of the new class, so the accuracy over known and new rows cannot be computed directly. It can be estimated: the
part of the known classes from held-out labelled rows, and the part of the new class from held-out unlabelled rows and theta, the
share of new rows among the unlabelled ones.
"""

# %%
# One table with marked rows
# --------------------------
# Pipelines and searches of scikit-learn pass a single ``X`` and ``y``. The unlabelled rows are appended to ``X`` and marked in
# ``y``.
import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits
from sklearn.decomposition import PCA
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler

from lacforest import LACForestClassifier
from lacforest.metrics import accuracy_score
from lacforest.mixture import estimate_theta
from lacforest.model_selection import AugmentedKFold, make_augmented_scorer, make_augmented_split

UNLABELED = -9
digits, numbers = load_digits(return_X_y=True)
split = make_augmented_split(
    digits, numbers, n_labeled=350, n_unlabeled=550, n_test=350, theta=0.4, random_state=0
)
X = np.vstack([split.X_labeled, split.X_unlabeled])
y = np.append(split.y_labeled, np.full(len(split.X_unlabeled), UNLABELED))

model = Pipeline(
    [
        ("scale", StandardScaler()),
        ("project", PCA(random_state=0)),
        ("forest", LACForestClassifier(40, unlabeled_label=UNLABELED, random_state=0)),
    ]
)

# %%
# The search
# ----------
# All candidates are scored with the same theta, which is estimated once. With ``AugmentedKFold``, every fold contains labelled
# and unlabelled rows.
theta = estimate_theta(split.X_labeled, split.X_unlabeled, random_state=0).theta
search = GridSearchCV(
    model,
    {"project__n_components": [2, 5, 10, 20], "forest__max_depth": [3, None]},
    scoring=make_augmented_scorer(theta),
    cv=AugmentedKFold(3, unlabeled_label=UNLABELED, random_state=0),
)
search.fit(X, y)
print(f"theta {theta:.3f}; best: {search.best_params_}")

# %%
# Comparison with the truth
# -------------------------
# Here the true labels are available, so the true accuracy of every candidate can be computed. The estimates, which use no labels of
# the new class, rank the candidates in approximately the right order.
true_accuracy = []
for parameters in search.cv_results_["params"]:
    candidate = model.set_params(**parameters).fit(X, y)
    predicted = candidate.predict(split.X_test)
    true_accuracy.append(
        accuracy_score(split.y_test, predicted, known_classes=split.known, new_label=-1)
    )
estimate = search.cv_results_["mean_test_score"]
figure, ax = plt.subplots(figsize=(6, 4.6), layout="constrained")
shallow = [parameters["forest__max_depth"] == 3 for parameters in search.cv_results_["params"]]
for is_shallow, color, name in ((True, "#56B4E9", "max_depth=3"), (False, "#0072B2", "any depth")):
    chosen = np.flatnonzero(np.array(shallow) == is_shallow)
    ax.scatter(np.array(true_accuracy)[chosen], estimate[chosen], color=color, label=name, zorder=3)
    for i in chosen:
        n_components = search.cv_results_["params"][i]["project__n_components"]
        ax.annotate(f" {n_components}", (true_accuracy[i], estimate[i]), va="center")
ends = [min(*true_accuracy, *estimate) - 0.02, 1.0]
ax.plot(ends, ends, color="#707070", ls=":", lw=1)
ax.set(xlabel="true accuracy on test rows", ylabel="estimate without labels of the new class")
ax.legend(title="numbers: PCA components")
plt.show()
