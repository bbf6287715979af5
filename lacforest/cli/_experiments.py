"""lacforest experiments: the paper's experiments, which have a command line of their own."""

from __future__ import annotations

import argparse
from typing import Any


def add_to(commands: Any) -> None:
    """Add the command; its words are left to the experiments, --help included."""
    parser = commands.add_parser(
        "experiments",
        help="run the paper's experiments",
        add_help=False,
        prefix_chars="\0",  # no word can begin with it: nothing is an option here
    )
    parser.add_argument("words", nargs="*")
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Hand over."""
    from lacforest.experiments.__main__ import main

    return main(given.words)
