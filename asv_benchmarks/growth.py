"""Measure how time and memory of every public function grow with rows, columns and classes.

Each call runs in a fork of its own, by one thread: tables and fitted forests are made once, and
imports are done by a call on a small table. Printed are the CPU seconds and the peak memory of the
largest call beyond what its process held before, and the exponents between the two largest calls:
1 is linear growth. A call that would take longer than the budget, judged by those before it, is
left out.

    python asv_benchmarks/growth.py                        # over rows
    python asv_benchmarks/growth.py --along columns        # up to 5,000 columns
    python asv_benchmarks/growth.py --along classes        # up to 2,000 classes
    python asv_benchmarks/growth.py --only fit --largest 1000000
"""

from __future__ import annotations

import argparse
import contextlib
import json
import math
import os
import time
from functools import cache
from pathlib import Path

# Before numpy is imported: forks must not inherit threads.
os.environ |= {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}

from benchmarks import growth_calls  # noqa: F401  (lists the calls)
from benchmarks.growth_problem import CALLS, Problem, Ready

SIZES = {
    "rows": [1_000, 10_000, 100_000],
    "columns": [50, 500, 5_000],
    "classes": [20, 200, 2_000],
}
FIXED = {
    "rows": {"n_columns": 10, "n_classes": 4},
    "columns": {"n_rows": 1_000, "n_classes": 4},
    "classes": {"n_rows": 20_000, "n_columns": 10},
}
FIELDS = {"rows": "n_rows", "columns": "n_columns", "classes": "n_classes"}
# Below this, a call measures its own overhead.
NOTHING_SECONDS, NOTHING_MEGABYTES = 0.01, 1.0


def memory(field: str) -> float:
    """A figure of this process in MB: VmRSS, or VmHWM since the last reset."""
    for line in Path("/proc/self/status").read_text(encoding="ascii").splitlines():
        if line.startswith(field):
            return int(line.split()[1]) / 1024
    raise RuntimeError(f"{field} is not reported by this system")


@cache
def make_problem(n_rows: int, n_columns: int, n_classes: int) -> Problem:
    """One table of each size, with its forest if that was asked for."""
    return Problem(n_rows, n_columns, n_classes)


def measure(call: Ready) -> dict[str, float]:
    """CPU seconds and MB of one call in this process."""
    Path("/proc/self/clear_refs").write_text("5", encoding="ascii")
    before, start = memory("VmRSS"), time.process_time()
    call()
    return {"seconds": time.process_time() - start, "megabytes": memory("VmHWM") - before}


def measure_apart(name: str, problem: Problem) -> dict[str, float] | str:
    """The same in a fork; the error where it fails."""
    try:
        call = CALLS[name](problem)
    except Exception as error:
        return f"{type(error).__name__}: {error}"
    read_end, write_end = os.pipe()
    child = os.fork()
    if child == 0:
        figures: dict[str, float] | str
        try:
            figures = measure(call)
        except BaseException as error:
            figures = f"{type(error).__name__}: {error}"
        os.write(write_end, json.dumps(figures).encode())
        os._exit(0)
    os.close(write_end)
    with os.fdopen(read_end) as pipe:
        told = pipe.read()
    os.waitpid(child, 0)
    answer: dict[str, float] | str = json.loads(told) if told else "ended by a signal"
    return answer


def exponent(sizes: list[int], values: list[float], nothing: float) -> float:
    """Slope between the two largest sizes on logarithmic axes; NaN where there is too little."""
    if len(values) < 2 or values[-1] < nothing:
        return math.nan
    steps = math.log(values[-1] / max(values[-2], nothing))
    return steps / math.log(sizes[-1] / sizes[-2])


def grow(name: str, along: str, sizes: list[int], budget: float) -> str:
    """One line of the table."""
    with contextlib.suppress(Exception):
        CALLS[name](make_problem(400, 4, 4))()
    done: list[int] = []
    seconds: list[float] = []
    megabytes: list[float] = []
    for size in sizes:
        if done:
            rise = max(exponent(done, seconds, NOTHING_SECONDS), 1.0) if len(done) > 1 else 1.0
            if seconds[-1] * (size / done[-1]) ** rise > budget:
                break
        figures = measure_apart(name, make_problem(**FIXED[along] | {FIELDS[along]: size}))
        if isinstance(figures, str):
            return f"{name:42s} {size:>9,d}  {figures[:80]}"
        done.append(size)
        seconds.append(figures["seconds"])
        megabytes.append(figures["megabytes"])
        if seconds[-1] > budget:
            break
    powers = (
        exponent(done, seconds, NOTHING_SECONDS),
        exponent(done, megabytes, NOTHING_MEGABYTES),
    )
    shown = ["   -" if math.isnan(power) else f"{power:4.2f}" for power in powers]
    return (
        f"{name:42s} {done[-1]:>9,d} {seconds[-1]:9.2f} {shown[0]} {megabytes[-1]:9.1f} {shown[1]}"
    )


def main() -> None:
    """Print a line per function."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--along", choices=SIZES, default="rows")
    parser.add_argument("--only", nargs="+", default=[""], help="texts that names must hold")
    parser.add_argument("--smallest", type=int, default=0, help="smallest size")
    parser.add_argument("--largest", type=int, help="largest size, in steps of ten")
    parser.add_argument("--sizes", type=int, nargs="+", help="these sizes, in ascending order")
    parser.add_argument("--budget", type=float, default=60.0, help="CPU seconds of a call")
    arguments = parser.parse_args()
    sizes = [size for size in SIZES[arguments.along] if size >= arguments.smallest]
    sizes = arguments.sizes or sizes
    while arguments.largest and sizes[-1] < arguments.largest:
        sizes = [*sizes, 10 * sizes[-1]]
    print(f"{'':42s} {arguments.along:>9s}   seconds  exp        MB  exp")
    for name in CALLS:
        if any(text in name for text in arguments.only):
            print(grow(name, arguments.along, sizes, arguments.budget), flush=True)


if __name__ == "__main__":
    main()
