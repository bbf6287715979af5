"""
Daily batches: a class appears, is found, gets a name, and comes back
=====================================================================

A model in use meets a batch of rows every day. This is the loop of :doc:`/guide/after` in Python: score the batch on arrival, watch
theta, fit again on a window of recent batches, group what is called new, and let a person name a group.
"""

# %%
# A stream
# --------
# Eight digits are known. Rows of one more digit arrive on days 2 to 4 and 8 to 9.
import warnings

import matplotlib.pyplot as plt
import numpy as np
from sklearn.datasets import load_digits

from lacforest import LACExtraTreesClassifier
from lacforest.discovery import NewClassGroups
from lacforest.mixture import ThetaWarning

# On days without anything new, fits warn that theta may be zero; here it is printed anyway.
warnings.simplefilter("ignore", ThetaWarning)

X, y = load_digits(return_X_y=True)
KNOWN, HIDDEN = [0, 1, 2, 3, 5, 6, 7, 9], 4
N_DAYS, DAYS_OF_HIDDEN = 10, (2, 3, 4, 8, 9)
rng = np.random.default_rng(0)
pools = {digit: list(rng.permutation(np.flatnonzero(y == digit))) for digit in range(10)}


def draw(per_class):
    """Rows of each class, which are not drawn again."""
    rows = [pools[digit].pop() for digit, count in per_class.items() for _ in range(count)]
    return rng.permutation(rows)


labeled = draw(dict.fromkeys(KNOWN, 40))
batches = [
    draw(dict.fromkeys(KNOWN, 13) | ({HIDDEN: 30} if day in DAYS_OF_HIDDEN else {}))
    for day in range(N_DAYS)
]

# %%
# The loop
# --------
# Rows of earlier days count less: half of yesterday's, a quarter of those of the day before. The person looks at the twenty rows
# nearest to the centre of the largest group. ``next_fit`` hands the shares of a promoted class to the fit: with twenty labelled
# rows it would otherwise be taken for rare, and its rows for new.
X_labeled, y_labeled = X[labeled], y[labeled]
forest = LACExtraTreesClassifier(random_state=0)
groups, window, history = None, [], []
for day, rows in enumerate(batches):
    batch, truth = X[rows], y[rows]

    # Score on arrival, with the forest of yesterday.
    is_hidden = truth == HIDDEN
    if day > 0:
        arrived = forest.predict(batch)
        found = [
            np.mean(arrived[is_hidden] == HIDDEN) if is_hidden.any() else np.nan,
            np.mean(arrived[is_hidden] == forest.new_label_) if is_hidden.any() else np.nan,
            np.mean((arrived == truth) | (is_hidden & (arrived == forest.new_label_))),
        ]
        history.append((day, *found))

    # Fit on a window, with theta and shares as they are in it.
    window = [batch, *window][:3]
    unlabeled = np.concatenate([part[:: 2**age] for age, part in enumerate(window)])
    forest.set_params(theta="auto", known_shares="auto")
    forest.fit(X_labeled, y_labeled, X_unlabeled=unlabeled)
    flagged = np.flatnonzero(forest.predict(batch) == forest.new_label_)
    line = f"day {day}: theta {forest.theta_:.2f}, {len(flagged):2} rows called new"
    if len(flagged) < 15:
        print(line)
        continue

    # Group what is new. Groups of earlier days keep their names.
    score = forest.novelty_score(batch[flagged])
    if groups is None:
        groups = NewClassGroups()
        groups.fit(batch[flagged], X_labeled=X_labeled, y_labeled=y_labeled, score=score)
    else:
        groups.update(batch[flagged], score)

    # A person labels twenty rows of the largest group, and the forest learns the name at once.
    members = np.flatnonzero(groups.labels_ == 0)
    seen = members[np.argsort(groups.center_distances_[members])][:20]
    labels = truth[flagged[seen]]
    name = np.bincount(labels).argmax()
    X_more, y_more = groups.promote({groups.group_names_[0]: name}, seen, labels)
    X_labeled = np.concatenate([X_labeled, X_more])
    y_labeled = np.concatenate([y_labeled, y_more])
    forest.set_params(**groups.next_fit(forest))
    forest.fit(X_labeled, y_labeled, X_unlabeled=unlabeled)
    print(f"{line}: {groups.group_names_[0]} is the digit {name} ({len(seen)} rows labelled)")

# %%
# What became of the class
# ------------------------
# On its first day it is mistaken for known digits, because no fit has seen it. In the evening it is found and named. When it comes
# back, more than nine in ten of its rows are called by its name on arrival, and nobody is asked again.
days, named, new, accuracy = np.array(history).T
figure, axes = plt.subplots(figsize=(7, 3.6), layout="constrained")
for first, last in ((2, 4), (8, 9)):
    axes.axvspan(first - 0.4, last + 0.4, color="0.92", zorder=0)
axes.plot(days, accuracy, color="0.4", marker="o", ms=3, label="accuracy on arrival")
axes.plot(days, named, color="#009E73", marker="o", label="the digit, called by its name")
axes.plot(days, new, color="#CC79A7", marker="o", label="the digit, called new")
axes.set(xlabel="day (grey: the digit is there)", ylabel="share of rows", ylim=(-0.03, 1.03))
axes.legend(loc=(0.57, 0.35))
plt.show()
