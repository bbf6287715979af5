"""The demonstration behind ``make demo``: digits with half of the classes hidden."""

from __future__ import annotations

import time

from sklearn.datasets import load_digits
from sklearn.metrics import accuracy_score, confusion_matrix, f1_score, roc_auc_score

from lacforest import LACForestClassifier
from lacforest.model_selection import make_augmented_split


def main(random_state: int = 0) -> None:
    """Hide five random digits from the labels, fit, and print how the forest does."""
    X, y = load_digits(return_X_y=True)
    split = make_augmented_split(
        X, y, n_labeled=350, n_unlabeled=500, n_test=350, theta=0.4, random_state=random_state
    )
    started = time.perf_counter()
    forest = LACForestClassifier(random_state=random_state)
    forest.fit(split.X_labeled, split.y_labeled, X_unlabeled=split.X_unlabeled)
    seconds = time.perf_counter() - started

    truth, predicted = split.y_test, forest.predict(split.X_test)
    names = ["new", *(str(label) for label in forest.known_classes_)]
    counts = confusion_matrix(truth, predicted, labels=forest.classes_)
    auc = roc_auc_score(truth == split.new_label, forest.novelty_score(split.X_test))
    assert forest.theta_interval_ is not None  # an estimated theta has one
    low, high = forest.theta_interval_
    print(f"digits: {len(split.labeled)} labelled rows of {', '.join(names[1:])};", end=" ")
    print(f"{len(split.unlabeled)} unlabelled rows of all ten digits; {len(truth)} test rows")
    print(f"hidden from the labels: {', '.join(map(str, split.hidden))}")
    print(f"theta              {forest.theta_:.3f}, interval {low:.3f} to {high:.3f}", end=" ")
    print(f"(truth: {split.theta:.3f})")
    print(f"accuracy           {accuracy_score(truth, predicted):.3f}")
    print(f"macro-F1           {f1_score(truth, predicted, average='macro'):.3f}")
    print(f"AUC of the new one {auc:.3f}")
    print(f"fitted in          {seconds:.2f} s\n")
    print("truth \\ predicted " + "".join(f"{name:>6}" for name in names))
    for name, row in zip(names, counts, strict=True):
        print(f"{name:>17} " + "".join(f"{count:>6}" for count in row))


if __name__ == "__main__":
    main()
