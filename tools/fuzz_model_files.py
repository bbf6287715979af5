"""Load model files that were changed at random: a clean refusal or a model that works, else exit 1.

Worker processes load the mutants, so that a crash or a hang ends a worker and not the run. A
mutant is made from (--seed, number) alone; a failure prints both, and --only repeats it.

    python tools/fuzz_model_files.py --files 100000
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
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from pathlib import Path

TESTS = Path(__file__).resolve().parents[1] / "tests"
BATCH = 2500
SECONDS_PER_FILE = 20
MEMORY = 6 << 30


def load_batch(seed: int, first: int, end: int) -> int:
    """Load mutants first to end in this process; print how many were refused."""
    sys.path[:0] = [str(TESTS), str(TESTS / "estimator")]
    from mutations import is_refused, seeds, write_mutant

    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    warnings.simplefilter("error")
    n_refused, slowest, failures = 0, 0.0, 0
    with tempfile.TemporaryDirectory() as folder:
        seed_files = seeds(Path(folder))
        path = Path(folder) / "mutant.lac"
        for number in range(first, end):
            write_mutant(path, seed_files, seed, number)
            print(f"at {number}", file=sys.stderr, flush=True)
            faulthandler.dump_traceback_later(SECONDS_PER_FILE, exit=True)
            start = time.perf_counter()
            try:
                n_refused += is_refused(path)
            except Exception:
                print(f"FAILED --seed {seed} --only {number}", file=sys.stderr)
                traceback.print_exc()
                failures += 1
            slowest = max(slowest, time.perf_counter() - start)
            faulthandler.cancel_dump_traceback_later()
    print(n_refused, slowest)
    return int(failures > 0)


def run_worker(seed: int, first: int, end: int) -> tuple[int, int, float, str]:
    """Files, refused files, slowest file and complaints of one batch."""
    command = [sys.executable, "-X", "faulthandler", __file__, "--seed", str(seed)]
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
    """Run all batches and sum up."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--files", type=int, default=100_000)
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", type=int, help="load this mutant alone, in this process")
    parser.add_argument("--batch", type=int, nargs=2, help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    if arguments.only is not None:
        return load_batch(arguments.seed, arguments.only, arguments.only + 1)
    if arguments.batch:
        return load_batch(arguments.seed, *arguments.batch)
    start = time.perf_counter()
    n_files = n_refused = 0
    slowest, complaints = 0.0, []
    edges = [*range(0, arguments.files, BATCH), arguments.files]
    with ThreadPoolExecutor(arguments.jobs) as pool:
        for n_here, refused, slow, complaint in pool.map(
            lambda span: run_worker(arguments.seed, *span), pairwise(edges)
        ):
            n_files, n_refused, slowest = n_files + n_here, n_refused + refused, max(slowest, slow)
            if complaint:
                complaints.append(complaint)
                print(complaint, file=sys.stderr, flush=True)
            print(f"{n_files} files, {n_refused} refused", file=sys.stderr, flush=True)
    print(
        f"seed {arguments.seed}: {n_files} files, {n_refused} refused, "
        f"{n_files - n_refused} loaded and used, {len(complaints)} batches with failures, slowest "
        f"{slowest:.2f} s, {time.perf_counter() - start:.0f} s in all"
    )
    return int(bool(complaints))


if __name__ == "__main__":
    sys.exit(main())
