"""lacforest demo: see it work without any file."""

from __future__ import annotations

import argparse
from typing import Any

from lacforest.tabular._errors import load_extra


def add_to(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "demo",
        help="see it work on digits with half of the classes hidden",
        description="Hide half of the classes of a dataset that comes with scikit-learn, fit, and "
        "show what the forest finds. Writes a report with pictures.",
        epilog="example:\n  lacforest demo\n",
    )
    parser.add_argument(
        "-o",
        "--output",
        default="lacforest-demo",
        metavar="FOLDER",
        help="where the report goes (default: lacforest-demo)",
    )
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Run the demonstration."""
    from lacforest import demo

    load_extra("matplotlib")
    demo.main(given.output)
    return 0
