"""Check that the oldest dependencies that pyproject.toml allows are installed.

python tools/check_floor.py numpy==2.0.* scipy==1.16.*
"""

from __future__ import annotations

import re
import sys
import tomllib
from importlib.metadata import version
from pathlib import Path


def main(pins: list[str]) -> None:
    """Compare pins with pyproject.toml and the installed versions; exit if they differ."""
    project = Path(__file__).resolve().parents[1] / "pyproject.toml"
    declared = tomllib.loads(project.read_text(encoding="utf-8"))["project"]["dependencies"]
    floors = dict(item.split(">=") for item in declared)
    pinned = {name: floor.removesuffix(".*") for name, floor in (pin.split("==") for pin in pins)}
    if pinned != floors:
        sys.exit(
            f"pyproject.toml allows {floors}, but {pinned} is tested: change FLOOR in Makefile"
        )
    for name, floor in floors.items():
        if not re.match(rf"{re.escape(floor)}(\.|$)", version(name)):
            sys.exit(f"{name} {version(name)} is installed, not {floor}")
    print("floor: " + ", ".join(f"{name} {version(name)}" for name in floors))


if __name__ == "__main__":
    main(sys.argv[1:])
