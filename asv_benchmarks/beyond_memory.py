"""Fit a forest on Parquet files that are written here in pieces, with bounded memory.

Prints minutes, CPU minutes, peak memory (the mapped codes are part of it while the system has room
for them) and the size of the model. Rows are drawn from Gaussians around random centres, one per
class; half of the classes are hidden.

    python asv_benchmarks/beyond_memory.py --rows 10_000_000 --memory 2048
"""

from __future__ import annotations

import argparse
import resource
import tempfile
import time
from pathlib import Path

import numpy as np

N_FEATURES, N_KNOWN, PIECE = 20, 5, 250_000


def write_files(folder: Path, n_rows: int) -> tuple[Path, Path]:
    """A third of the rows with labels of known classes, the rest without, by row groups."""
    import pyarrow as arrow
    from pyarrow import parquet

    rng = np.random.default_rng(0)
    centres = 1.5 * rng.normal(size=(2 * N_KNOWN, N_FEATURES))
    names = [f"x{i}" for i in range(N_FEATURES)]
    paths = folder / "labelled.parquet", folder / "unlabelled.parquet"
    for path, n_own, n_classes in (
        (paths[0], n_rows // 3, N_KNOWN),
        (paths[1], n_rows - n_rows // 3, 2 * N_KNOWN),
    ):
        writer = None
        for first in range(0, n_own, PIECE):
            label = rng.integers(n_classes, size=min(PIECE, n_own - first))
            values = centres[label] + rng.normal(size=(len(label), N_FEATURES))
            columns = dict(zip(names, values.astype(np.float32).T, strict=True))
            if path == paths[0]:
                columns["label"] = label
            table = arrow.table(columns)
            if writer is None:
                writer = parquet.ParquetWriter(path, table.schema)
            writer.write_table(table)
        writer.close()
    return paths


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--rows", type=int, default=10_000_000)
    parser.add_argument("--memory", type=int, default=2048, metavar="MIB")
    parser.add_argument("--trees", type=int, default=100)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--theta", default="auto")
    parser.add_argument("--folder", type=Path, help="keep the tables here")
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as scratch:
        folder = options.folder or Path(scratch)
        paths = folder / "labelled.parquet", folder / "unlabelled.parquet"
        if not all(path.exists() for path in paths):
            paths = write_files(folder, options.rows)
        measure(paths, options, Path(scratch) / "model.lac")


def measure(paths: tuple[Path, Path], options: argparse.Namespace, target: Path) -> None:
    from lacforest import LACForestClassifier
    from lacforest.tabular import TabularModel

    theta = options.theta if options.theta == "auto" else float(options.theta)
    forest = LACForestClassifier(options.trees, theta=theta, n_jobs=options.jobs, random_state=0)
    model = TabularModel(forest)
    wall, cpu = time.perf_counter(), time.process_time()
    model.fit_files(paths[0], "label", paths[1], max_memory=options.memory * 2**20)
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    model.save(target)
    peak = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    size = sum(path.stat().st_size for path in paths)
    print(
        f"{options.rows:,} rows x {N_FEATURES}, {size / 1e6:.0f} MB of Parquet, --memory "
        f"{options.memory}: {wall / 60:.1f} min, {cpu / 60:.1f} CPU min, {options.jobs} threads; "
        f"{options.trees} trees of about {forest.max_samples or options.rows:,} rows; theta "
        f"{forest.theta_:.3f} (0.5 true); peak {peak:.0f} MiB; model "
        f"{target.stat().st_size / 1e6:.0f} MB"
    )


if __name__ == "__main__":
    main()
