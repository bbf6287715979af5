"""Which forest should `lacforest fit` grow by default? Both forests and the rival recipe, paired.

Every method is fitted on the same splits with theta estimated, for several shares of new rows;
with `--told` both forests know theta, which saves the time of the estimate.
`top` is the precision among the k rows with the highest novelty scores, k the number of new rows.
Results are appended to a file as they come, and printed as a table.

    python asv_benchmarks/compare_defaults.py --results docs/results/defaults.jsonl
"""

from __future__ import annotations

import argparse
import json
import tempfile
import time
import warnings
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.metrics import roc_auc_score

from lacforest import LACExtraTreesClassifier, LACForestClassifier, datasets
from lacforest.experiments._discriminator import DiscriminatorForest
from lacforest.model_selection import make_augmented_split

METHODS = ("lacforest", "lacextratrees", "discriminator")
TABLES = ("pendigits", "letter", "satimage", "texture", "optdigits", "segment")
SHARES = (0.01, 0.1, 0.5)


def make(method: str, seed: int, theta: float | str) -> Any:
    if method == "discriminator":
        return DiscriminatorForest(seed, 1)
    forests = {"lacforest": LACForestClassifier, "lacextratrees": LACExtraTreesClassifier}
    return forests[method](theta=theta, random_state=seed, n_jobs=1)


def split_of(table: str, share: float, seed: int) -> Any:
    """A tenth of the rows labelled, an eighth unlabelled, and an eighth for tests."""
    dataset = datasets.load(table)
    n_rows = min(len(dataset.target), 10_000)
    return make_augmented_split(
        dataset.data,
        dataset.target,
        n_labeled=n_rows // 10,
        n_unlabeled=n_rows // 8,
        n_test=n_rows // 8,
        theta=share,
        random_state=seed,
    )


def evaluate(method: str, split: Any, seed: int, theta: float | str) -> dict[str, float]:
    forest = make(method, seed, theta)
    before = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        forest.fit(split.X_labeled, split.y_labeled, X_unlabeled=split.X_unlabeled)
    seconds = time.process_time() - before
    before = time.process_time()
    probabilities = forest.predict_proba(split.X_test)
    predicting = time.process_time() - before
    scores = probabilities[:, forest.new_class_index_]
    is_new = ~np.isin(split.y_test, split.known)
    truth = np.where(is_new, forest.classes_[forest.new_class_index_], split.y_test)
    n_bytes = 0
    if hasattr(forest, "save"):
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "model.lac"
            forest.save(path)
            n_bytes = path.stat().st_size
    top = np.argsort(-scores, kind="stable")[: is_new.sum()]
    return {
        "accuracy": float((forest.classes_[probabilities.argmax(axis=1)] == truth).mean()),
        "auc": float(roc_auc_score(is_new, scores)),
        "top": float(is_new[top].mean()),
        "theta_error": abs(forest.theta_ - float(is_new.mean())),
        "fit_seconds": seconds,
        "predict_seconds": predicting,
        "megabytes": n_bytes / 1e6,
    }


def show(entries: list[dict[str, Any]]) -> None:
    names = list(entries[0]["scores"])
    print("share  method         " + " ".join(f"{name:>15}" for name in names) + "  splits")
    for share in dict.fromkeys(entry["share"] for entry in entries):
        for method in METHODS:
            rows = [e["scores"] for e in entries if (e["share"], e["method"]) == (share, method)]
            if rows:
                means = [np.mean([row[name] for row in rows]) for name in names]
                print(
                    f"{share:<6} {method:<14} " + " ".join(f"{mean:15.4f}" for mean in means),
                    f"{len(rows):7}",
                )
        pairs = [
            [e["scores"] for e in entries if (e["share"], e["method"]) == (share, method)]
            for method in METHODS[:2]
        ]
        for name in ("accuracy", "auc", "top"):
            lead = np.array([b[name] - a[name] for a, b in zip(*pairs, strict=True)])
            error = lead.std(ddof=1) / np.sqrt(len(lead))
            print(f"       lead of {METHODS[1]} in {name}: {lead.mean():+.4f} (s.e. {error:.4f})")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--tables", nargs="+", default=TABLES)
    parser.add_argument("--splits", type=int, default=3)
    parser.add_argument("--told", action="store_true", help="theta is known")
    parser.add_argument("--results", type=Path)
    given = parser.parse_args()
    methods = METHODS[:2] if given.told else METHODS
    entries = []
    for share in SHARES:
        for table in given.tables:
            for seed in range(given.splits):
                split = split_of(table, share, seed)
                for method in methods:
                    scores = evaluate(method, split, seed, share if given.told else "auto")
                    entry = {"share": share, "table": table, "seed": seed, "method": method}
                    entries.append(entry | {"scores": scores})
                    if given.results:
                        with open(given.results, "a") as file:
                            file.write(json.dumps(entries[-1]) + "\n")
    show(entries)


if __name__ == "__main__":
    main()
