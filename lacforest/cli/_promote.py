"""lacforest promote: verified rows of groups join the labelled table."""

from __future__ import annotations

import argparse
from collections import Counter
from pathlib import Path
from typing import Any

from lacforest._utils.extras import load_extra
from lacforest.cli import _arguments
from lacforest.cli._batches import load_model
from lacforest.cli._console import Console, table_of
from lacforest.cli._groups import GROUP, LABEL, OWN_COLUMNS, PREFIX
from lacforest.cli._output import TableWriter, check_output, with_formula
from lacforest.discovery import next_shares, sizes_by_label
from lacforest.tabular import TableError, read_table
from lacforest.tabular.errors import listed

_EXAMPLES = """\
Write a label into the column "label" of the table that lacforest groups wrote, for rows that you
have looked at. The name of the group itself (new-1) stands for the label that --name gives it. Rows
without a label are left out.

With --model the output says how to call the next fit. A class with few labelled rows may be
frequent in deployment; without its share, the next fit takes most of its rows for new. A group with
several labels is divided among them, labels of known classes included.

examples:
  lacforest promote labelled.csv groups.csv --target kind -o labelled-2.csv --name new-1=fraud
  lacforest promote labelled.csv groups.csv --target kind -o labelled-2.csv --model model.lac
"""


def _name(text: str) -> tuple[str, str]:
    group, equals, label = text.partition("=")
    if not (group and equals and label):
        raise argparse.ArgumentTypeError(f"{text!r} is not of the form new-1=fraud")
    return group, label


def add_to(commands: Any) -> None:
    """Add the command."""
    parser = commands.add_parser(
        "promote",
        description="Add rows of a table of lacforest groups that a person has labelled to the "
        "labelled table, for the next fit.",
        epilog=_EXAMPLES,
    )
    add = parser.add_argument
    add("labelled", type=Path, help="table of labelled rows")
    add("groups", type=Path, help="table of lacforest groups, with labels filled in")
    add("--target", required=True, metavar="COL", help="the column of labels")
    add("-o", "--output", type=Path, required=True, metavar="FILE", help="next labelled table")
    add(
        "--name",
        type=_name,
        action="append",
        default=[],
        metavar="GROUP=LABEL",
        help="label of a group; can be repeated",
    )
    add("--model", type=Path, metavar="FILE", help="the model that called the rows new")
    _arguments.add_jobs(parser)
    _arguments.add_encoding(parser)
    _arguments.add_common(parser)
    parser.set_defaults(run=run)


def run(given: argparse.Namespace) -> int:
    """Join the tables, and say how to fit next."""
    console = Console(given)
    check_output(given.output, [given.labelled, given.groups])
    writer = TableWriter(given.output)
    labelled = _read(console, given, given.labelled)
    groups = _read(console, given, given.groups)
    if given.target not in labelled.columns:
        raise TableError(f"{given.labelled} has no column {given.target!r} of labels")
    missing = [name for name in (GROUP, LABEL) if name not in groups.columns]
    if missing:
        raise TableError(
            f"{given.groups} has no column {missing[0]!r}: it must come from lacforest groups"
        )
    named = dict(given.name)
    twice = [name for name, count in Counter(name for name, _ in given.name).items() if count > 1]
    if twice:
        raise TableError(f"--name gives group {twice[0]!r} more than one label")
    unknown = sorted(set(named) - set(groups[GROUP]))
    if unknown:
        raise TableError(f"{given.groups} has no group {unknown[0]!r}")
    has_label = groups[LABEL].notna() & (groups[LABEL].str.strip() != "")
    verified = groups[has_label].map(with_formula)
    if not len(verified):
        raise TableError(
            f'{given.groups} has no labels: fill in the column "{LABEL}" for rows that you have '
            "looked at"
        )
    labels = verified[LABEL].str.strip().map(lambda label: named.get(label, label))
    left = sorted(set(labels) & set(groups[GROUP]))
    if left:
        raise TableError(f"group {left[0]!r} has no label: add --name {left[0]}=LABEL")
    own = verified.drop(columns=[name for name in OWN_COLUMNS if name in verified.columns])
    own = own.rename(columns={PREFIX + name: name for name in OWN_COLUMNS})
    own = own.assign(**{given.target: labels})
    columns = [name for name in labelled.columns if name in own.columns]
    empty = [name for name in labelled.columns if name not in own.columns]
    joined = load_extra("pandas").concat([labelled, own[columns]], ignore_index=True)
    with writer.open() as write:
        write(joined)
    counts = {str(label): int(n) for label, n in labels.value_counts().items()}
    lines = [
        ("labelled", f"{len(labelled):,} rows"),
        ("added", ", ".join(f"{n:,} of {label}" for label, n in counts.items())),
        ("written", str(given.output)),
    ]
    facts: dict[str, Any] = {"labelled": len(labelled), "added": counts, "empty": empty}
    if given.model is not None:
        theta, shares = _next(console, given, groups, labels, verified)
        facts |= {"theta": theta, "known_shares": shares}
        words = ",".join(f"{label}={value:.4f}" for label, value in shares.items())
        lines.append(("next fit", f"--theta {theta:.4f} --known-shares {words}"))
    if empty:
        lines.append(("empty", f"added rows have no values in {listed(empty)}"))
    console.print_result(facts | {"output": str(given.output)}, table_of(lines))
    return 0


def _read(console: Console, given: argparse.Namespace, path: Path) -> Any:
    """A table with every column as text, so that all cells are copied as they are."""
    with console.activity(f"reading {path}"):
        plain = read_table(path, encoding=given.encoding)
        return read_table(path, text=[str(name) for name in plain.columns], encoding=given.encoding)


def _next(
    console: Console, given: argparse.Namespace, groups: Any, labels: Any, verified: Any
) -> tuple[float, dict[str, float]]:
    """Theta and known shares of the next fit, where groups are as their verified rows."""
    model = load_model(console, given)
    to_known = {str(label): label for label in model.forest.known_classes_.tolist()}
    given_labels = labels.map(lambda label: to_known.get(label, label))
    counts = groups[GROUP].value_counts()
    by_group = [given_labels[verified[GROUP] == name].tolist() for name in counts.index]
    sizes = sizes_by_label(counts.tolist(), by_group)
    theta, shares = next_shares(model.forest, sizes, len(groups))
    return theta, {str(label): value for label, value in shares.items()}
