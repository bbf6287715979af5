"""lacforest experiments: the paper's experiments, which have their own command line."""

from __future__ import annotations

import argparse
from typing import Any


def add_to(commands: Any) -> None:
    """Add the command; its arguments, --help included, are parsed by the experiments."""
    parser = commands.add_parser(
        "experiments",
        add_help=False,
        prefix_chars="\0",  # no argument can begin with it, so nothing is an option here
    )
    parser.add_argument("words", nargs="*")
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Pass the arguments on."""
    from lacforest.experiments.command import main

    return main(given.words)
