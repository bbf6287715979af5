"""The demonstration behind ``make demo``: digits with half of the classes hidden."""

from __future__ import annotations

import time

import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import accuracy_score, confusion_matrix, f1_score, roc_auc_score

from lacforest import LACForestClassifier


def main(random_state: int = 0) -> None:
    """Hide five random digits from the labels, fit, and print how the forest does."""
    X, y = load_digits(return_X_y=True)
    rng = np.random.default_rng(random_state)
    hidden = np.sort(rng.choice(10, size=5, replace=False))
    is_new = np.isin(y, hidden)
    truth = np.where(is_new, -1, y)
    known_rows = rng.permutation(np.flatnonzero(~is_new))
    new_rows = rng.permutation(np.flatnonzero(is_new))
    labeled, unlabeled_known, test_known = np.split(known_rows, [400, 700])
    unlabeled_new, test_new = np.split(new_rows[:500], [300])
    unlabeled = np.concatenate([unlabeled_known, unlabeled_new])
    test = np.concatenate([test_known[:200], test_new])

    started = time.perf_counter()
    forest = LACForestClassifier(theta=0.5, random_state=random_state)
    forest.fit(X[labeled], y[labeled], X_unlabeled=X[unlabeled])
    seconds = time.perf_counter() - started

    predicted = forest.predict(X[test])
    names = ["new", *(str(label) for label in forest.known_classes_)]
    counts = confusion_matrix(truth[test], predicted, labels=forest.classes_)
    auc = roc_auc_score(truth[test] == -1, forest.novelty_score(X[test]))
    print(f"digits: {len(labeled)} labelled rows of {', '.join(names[1:])};", end=" ")
    print(f"{len(unlabeled)} unlabelled rows of all ten digits; {len(test)} test rows")
    print(f"hidden from the labels: {', '.join(map(str, hidden))}")
    print(f"theta              {forest.theta_:.3f} (given)")
    print(f"accuracy           {accuracy_score(truth[test], predicted):.3f}")
    print(f"macro-F1           {f1_score(truth[test], predicted, average='macro'):.3f}")
    print(f"AUC of the new one {auc:.3f}")
    print(f"fitted in          {seconds:.2f} s\n")
    print("truth \\ predicted " + "".join(f"{name:>6}" for name in names))
    for name, row in zip(names, counts, strict=True):
        print(f"{name:>17} " + "".join(f"{count:>6}" for count in row))


if __name__ == "__main__":
    main()
