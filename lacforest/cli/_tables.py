"""Labelled and unlabelled tables, read and coded by the options of a command."""

from __future__ import annotations

import argparse
from pathlib import Path
from typing import Any

from lacforest.cli._console import Console
from lacforest.tabular import Advice, TableCoder, read_table


def read_tables(console: Console, given: argparse.Namespace, paths: list[Path]) -> list[Any]:
    """Frames of several files, read by the options of `add_tables`."""
    frames = []
    for path in paths:
        with console.activity(f"reading {path}"):
            frame = read_table(
                path, text=given.text, missing=given.missing, encoding=given.encoding
            )
        frames.append(frame)
    return frames


def make_coder(given: argparse.Namespace) -> TableCoder:
    """A coder with the options of `add_tables`."""
    return TableCoder(
        given.categories,
        drop=given.drop,
        text=given.text,
        missing=given.missing,
        use=given.use,
        dates=given.dates,
        advice=Advice(is_command=True),
    )
