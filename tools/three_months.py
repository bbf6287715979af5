"""Replay the story of docs/guide/after.rst: from the first fit to the third month.

    python tools/three_months.py            compare what the commands print with the page
    python tools/three_months.py --show     print it, to be put on the page
    python tools/three_months.py --tables FOLDER    only write the tables

The tables have numbers, text and missing values. January has a class that nobody labelled, March a
second one.
"""

from __future__ import annotations

import argparse
import os
import re
import shlex
import subprocess
import sys
import tempfile
from pathlib import Path

import numpy as np
import pandas as pd

PAGE = Path(__file__).parents[1] / "docs" / "guide" / "after.rst"
N_VERIFIED = 20
# Rows of ham, spam, the first and the second unlabelled class.
TABLES = {
    "labelled": (200, 200, 0, 0),
    "jan": (250, 250, 150, 0),
    "feb": (250, 250, 120, 0),
    "mar": (120, 320, 100, 120),
}
CENTRES = {"ham": (0.0, 0.0), "spam": (0.0, 6.0), "first": (8.0, 6.0), "second": (14.0, 14.0)}
CITIES = {"ham": "Oslo", "spam": "Kyiv", "first": "Lima", "second": "Lima"}
# Of rows with the city of their kind, and of members among other kinds than spam.
MOST = 0.8
# A command, with the lines that a backslash continues, and what is shown below it.
_COMMAND = re.compile(r"^   \$ (lacforest (?:.*\\\n)*.*)\n((?:   .+\n)*)", re.MULTILINE)
# What differs from run to run or with the processor: times, and the rows nearest to a centre.
_VARIES = re.compile(r"in [0-9.]+ s\b|like rows [0-9, ]+")
_NUMBER = re.compile(r"-?[0-9]+(?:\.[0-9]+)?")


def write_tables(folder: Path) -> None:
    """The tables of the story, each by a seed of its own."""
    for seed, (name, sizes) in enumerate(TABLES.items()):
        rng = np.random.default_rng(seed)
        kinds = np.repeat(list(CENTRES), sizes)
        hours, amount = rng.normal([CENTRES[kind] for kind in kinds]).T
        frame = pd.DataFrame(
            {
                "hours": hours.round(3),
                "amount": amount.round(3),
                "member": rng.random(len(kinds)) < np.where(kinds == "spam", 1 - MOST, MOST),
                "city": [CITIES[kind] if rng.random() < MOST else "Rome" for kind in kinds],
            }
        )
        for column in ("amount", "city"):
            frame.loc[rng.random(len(frame)) < 0.05, column] = None
        if name == "labelled":
            frame["kind"] = kinds
        frame = frame.sample(frac=1, random_state=seed)
        frame.to_csv(folder / f"{name}.csv", index=False)


def verify_rows() -> None:
    """What people do before `lacforest promote`: label some rows of the first group."""
    rows = pd.read_csv("groups.csv")
    rows["label"] = rows["label"].astype(object)
    members = rows.index[rows["group"] == "new-1"][:N_VERIFIED]
    rows.loc[members, "label"] = "new-1"
    rows.to_csv("groups.csv", index=False)


def call(command: str) -> str:
    """What a command prints."""
    words = shlex.split(command.replace("\\\n", " "))
    if words[1] == "promote":
        verify_rows()
    done = subprocess.run(
        [sys.executable, "-m", *words], capture_output=True, text=True, check=False
    )
    expected = (0, 3) if words[1] == "watch" else (0,)
    if done.returncode not in expected:
        raise SystemExit(f"{command}\nended with {done.returncode}:\n{done.stderr}")
    return done.stdout


def is_like(shown: str, printed: str) -> bool:
    """Whether two lines have the same words and about the same numbers.

    Rounding errors of linear algebra depend on the processor, and a few rows may change sides.
    """
    shown, printed = (_VARIES.sub("", line) for line in (shown, printed))
    if _NUMBER.sub("#", shown) != _NUMBER.sub("#", printed):
        return False
    for one, other in zip(_NUMBER.findall(shown), _NUMBER.findall(printed), strict=True):
        slack = 1.0 if "." not in one else 0.02
        if abs(float(one) - float(other)) > slack + 0.05 * abs(float(one)):
            return False
    return True


def missing_lines(shown: str, printed: str) -> list[str]:
    """Lines of the page that the command did not print."""
    lines = [line.strip() for line in printed.splitlines()]
    wanted = [line.strip() for line in shown.splitlines() if line.strip() != "..."]
    return [one for one in wanted if not any(is_like(one, line) for line in lines)]


def main() -> int:
    """Replay the page in a folder that is removed afterwards."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--show", action="store_true")
    parser.add_argument("--tables", type=Path, metavar="FOLDER")
    given = parser.parse_args()
    if given.tables is not None:
        write_tables(given.tables)
        return 0
    steps = _COMMAND.findall(PAGE.read_text(encoding="utf-8"))
    n_missing = 0
    before = Path.cwd()
    with tempfile.TemporaryDirectory(prefix="three-months-") as folder:
        os.chdir(folder)
        try:
            write_tables(Path())
            for command, shown in steps:
                printed = call(command)
                if given.show:
                    print(f"$ {command}\n{printed}", flush=True)
                    continue
                missing = missing_lines(shown, printed)
                n_missing += len(missing)
                for line in missing:
                    print(f"$ {command}\ndoes not print: {line}\nbut:\n{printed}", file=sys.stderr)
        finally:
            os.chdir(before)
    if n_missing == 0 and not given.show:
        print(f"the {len(steps)} commands of {PAGE.name} print what the page shows")
    return 1 if n_missing else 0


if __name__ == "__main__":
    sys.exit(main())
