"""Accuracy of the forest on digits with half of the classes hidden."""

from __future__ import annotations

import numpy as np
from sklearn.datasets import load_digits
from sklearn.metrics import roc_auc_score

from lacforest import LACForestClassifier


class Digits:
    """Means over five splits, with theta given and with theta estimated."""

    params = ("given", "estimated")
    param_names = ("theta",)
    timeout = 120

    def setup_cache(self):
        return {"given": self.measure(0.5), "estimated": self.measure("auto")}

    def measure(self, theta):
        X, y = load_digits(return_X_y=True)
        results = []
        for seed in range(5):
            rng = np.random.default_rng(seed)
            truth = np.where(np.isin(y, rng.choice(10, 5, replace=False)), -1, y)
            known = rng.permutation(np.flatnonzero(truth >= 0))
            new = rng.permutation(np.flatnonzero(truth < 0))
            unlabeled = np.concatenate([known[400:700], new[:300]])
            test = np.concatenate([known[700:850], new[300:450]])
            forest = LACForestClassifier(theta=theta, random_state=seed)
            forest.fit(X[known[:400]], truth[known[:400]], X_unlabeled=X[unlabeled])
            accuracy = forest.score(X[test], truth[test])
            auc = roc_auc_score(truth[test] < 0, forest.novelty_score(X[test]))
            results.append((accuracy, auc, abs(forest.theta_ - 0.5)))
        return np.mean(results, axis=0)

    def track_accuracy(self, results, theta):
        return float(results[theta][0])

    def track_auc_of_the_new_class(self, results, theta):
        return float(results[theta][1])

    def track_error_of_theta(self, results, theta):
        return float(results[theta][2])
