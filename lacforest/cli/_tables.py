"""Tables that a command reads, and their coding by the options of the command."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from typing import Any

from lacforest.cli._console import Console
from lacforest.tabular import TableCoder, TableError, read_table
from lacforest.tabular.errors import Advice, Problems
from lacforest.tabular.places import Place, find_places, joint_name

# How messages of a command spell its options.
ADVICE = Advice(is_command=True)


def find_tables(given: argparse.Namespace, *groups: Sequence[str]) -> list[list[Place]]:
    """The tables of each group of arguments; patterns are expanded, standard input is copied."""
    if sum(words.count("-") for words in groups) > 1:
        raise TableError("standard input (-) can be read only once: use a file for the other table")
    return [find_places(words, given.format, given.decimal) for words in groups]


def read_tables(
    console: Console, given: argparse.Namespace, groups: Sequence[Sequence[Place]]
) -> list[Any]:
    """One frame per group of tables, read by the options of `add_tables`."""
    frames, problems = [], Problems()
    for places in groups:
        with console.activity(f"reading {joint_name(places)}"), problems.collecting():
            frame = read_table(
                places, text=given.text, missing=given.missing, encoding=given.encoding
            )
            frames.append(frame)
    problems.raise_if_any()
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
        advice=ADVICE,
    )
