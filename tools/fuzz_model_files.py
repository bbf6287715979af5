"""Load randomly mutated model files: each must raise ModelFileError or give a working model.

Worker processes load the mutants, so that a crash or a hang ends only the worker. A mutant depends
only on (--seed, number); a failure prints both, and --only repeats it. The exit code is 1 if any
mutant failed.

    python tools/fuzz_model_files.py --files 100000
    python tools/fuzz_model_files.py --files 100000 --neural    # files of networks and checkpoints
"""

from __future__ import annotations

import argparse
import contextlib
import faulthandler
import resource
import subprocess
import sys
import tempfile
import time
import traceback
import warnings
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1] / "tests"
BATCH = 10_000
SECONDS_PER_FILE = 20
MEMORY = 6 << 30
# Files that are not on a disk are written in a third of the time.
SHARED_MEMORY = "/dev/shm"


def forest_mutants(folder: Path, seed: int) -> Callable[[int], bool]:
    """Write and load mutants of forests by number; whether each was rejected."""
    sys.path[:0] = [str(TESTS), str(TESTS / "estimator")]
    from mutations import is_refused, write_mutant
    from seed_files import seeds

    warnings.simplefilter("error")
    seed_files, path = seeds(folder), folder / "mutant.lac"

    def check(number: int) -> bool:
        write_mutant(path, seed_files, seed, number)
        return bool(is_refused(path))

    return check


def neural_mutants(folder: Path, seed: int) -> Callable[[int], bool]:
    """The same for networks and checkpoints."""
    sys.path[:0] = [str(TESTS), str(TESTS / "neural")]
    import torch
    from neural_model_files import is_neural_refused, neural_seeds, write_neural_mutant

    torch.set_num_threads(1)
    # Training that continues from random weights may warn.
    warnings.simplefilter("ignore")
    seed_files, path = neural_seeds(folder), folder / "mutant"

    def check(number: int) -> bool:
        is_checkpoint = write_neural_mutant(path, seed_files, seed, number)
        return bool(is_neural_refused(path, is_checkpoint))

    return check


def load_batch(seed: int, first: int, end: int, neural: bool) -> int:
    """Load mutants `first` to `end` - 1 in this process; print how many were rejected."""
    n_refused, slowest, failures = 0, 0.0, 0
    in_memory = SHARED_MEMORY if Path(SHARED_MEMORY).is_dir() else None
    with tempfile.TemporaryDirectory(dir=in_memory) as folder:
        check = (neural_mutants if neural else forest_mutants)(Path(folder), seed)
        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
        for number in range(first, end):
            print(f"at {number}", file=sys.stderr, flush=True)
            faulthandler.dump_traceback_later(SECONDS_PER_FILE, exit=True)
            start = time.perf_counter()
            try:
                n_refused += check(number)
            except Exception:
                print(f"FAILED --seed {seed} --only {number}", file=sys.stderr)
                traceback.print_exc()
                failures += 1
            slowest = max(slowest, time.perf_counter() - start)
            faulthandler.cancel_dump_traceback_later()
    print(n_refused, slowest)
    return int(failures > 0)


def run_worker(seed: int, first: int, end: int, neural: bool) -> tuple[int, int, float, str]:
    """Run one batch; return the numbers of files and rejections, the slowest time and failures."""
    command = [sys.executable, "-X", "faulthandler", __file__, "--seed", str(seed)]
    command += ["--neural"] if neural else []
    done = subprocess.run(
        [*command, "--batch", str(first), str(end)], capture_output=True, text=True, check=False
    )
    said = [line for line in done.stderr.splitlines() if not line.startswith("at ")]
    complaint = "\n".join(said) if done.returncode else ""
    refused, slowest = 0, 0.0
    with contextlib.suppress(ValueError):
        refused, slowest = (float(word) for word in done.stdout.split())
    if done.returncode < 0 or (done.returncode and "FAILED" not in complaint):
        last = [line for line in done.stderr.splitlines() if line.startswith("at ")][-1:]
        complaint += f"\nworker ended with {done.returncode}, {''.join(last)} --seed {seed}"
    return end - first, int(refused), slowest, complaint


def main() -> int:
    """Run all batches and print a summary."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--neural", action="store_true", help="files of networks and checkpoints")
    parser.add_argument("--only", type=int, help="load only this mutant, in this process")
    parser.add_argument("--batch", type=int, nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    seed, neural = arguments.seed, arguments.neural
    if arguments.only is not None:
        return load_batch(seed, arguments.only, arguments.only + 1, neural)
    if arguments.batch:
        return load_batch(seed, *arguments.batch, neural)
    start = time.perf_counter()
    n_files = n_refused = 0
    slowest, complaints = 0.0, []
    edges = [*range(0, arguments.files, BATCH), arguments.files]
    with ThreadPoolExecutor(arguments.jobs) as pool:
        for n_here, refused, slow, complaint in pool.map(
            lambda span: run_worker(seed, *span, neural), pairwise(edges)
        ):
            n_files, n_refused, slowest = n_files + n_here, n_refused + refused, max(slowest, slow)
            if complaint:
                complaints.append(complaint)
                print(complaint, file=sys.stderr, flush=True)
            print(f"{n_files} files, {n_refused} refused", file=sys.stderr, flush=True)
    print(
        f"seed {seed}: {n_files} files, {n_refused} refused, "
        f"{n_files - n_refused} loaded and used, {len(complaints)} batches with failures, slowest "
        f"{slowest:.2f} s, {time.perf_counter() - start:.0f} s in all"
    )
    return int(bool(complaints))


if __name__ == "__main__":
    sys.exit(main())
