"""Tables as text, Markdown, LaTeX, CSV or JSON."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

FORMATS = ("text", "markdown", "latex", "csv", "json")


@dataclass(frozen=True)
class PrintedColumn:
    """A column: its title, the key of its values in a row, and their format."""

    title: str
    key: str
    form: str = ""

    def show(self, row: dict[str, Any]) -> str:
        """The formatted value of a row."""
        value = row[self.key]
        return "-" if value is None else format(value, self.form)


def _text(columns: Sequence[PrintedColumn], rows: Sequence[dict[str, Any]]) -> str:
    lines = [[column.title for column in columns]]
    lines += [[column.show(row) for column in columns] for row in rows]
    widths = [max(map(len, cells)) for cells in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(
            cell.rjust(width) if column.form else cell.ljust(width)
            for column, cell, width in zip(columns, line, widths, strict=True)
        ).rstrip()
        for line in lines
    )


def _markdown(columns: Sequence[PrintedColumn], rows: Sequence[dict[str, Any]]) -> str:
    lines = [
        [column.title for column in columns],
        ["---:" if column.form else "---" for column in columns],
        *([column.show(row) for column in columns] for row in rows),
    ]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def latex_text(text: str) -> str:
    """Text with the special characters of LaTeX escaped."""
    return re.sub(r"([&%$#_{}])", r"\\\1", text)


def latex_table(lines: Sequence[Sequence[str]], alignment: str, title: str = "") -> str:
    r"""A tabular environment.

    Parameters
    ----------
    lines : list of list of str
        Titles first, then rows. The titles and the first cell of each row are plain text; other
        cells may contain LaTeX commands.
    alignment : str
        One letter per column.
    title : str, default=""
        An additional last line across all columns.
    """
    head = " & ".join(map(latex_text, lines[0]))
    rows = [" & ".join([rf"\textsf{{{latex_text(first)}}}", *rest]) for first, *rest in lines[1:]]
    below = [rf"\multicolumn{{{len(alignment)}}}{{l}}{{{latex_text(title)}}}"] if title else []
    return "\n".join(
        [
            rf"\begin{{tabular}}{{{alignment}}}",
            r"\hline",
            rf"{head} \\",
            r"\hline",
            *(rf"{row} \\" for row in rows),
            r"\hline",
            *below,
            r"\end{tabular}",
        ]
    )


def _latex(columns: Sequence[PrintedColumn], rows: Sequence[dict[str, Any]]) -> str:
    lines = [[column.title for column in columns]]
    for row in rows:
        first, *rest = (column.show(row) for column in columns)
        lines.append([first, *map(latex_text, rest)])
    return latex_table(lines, "".join("r" if column.form else "l" for column in columns))


def _csv(columns: Sequence[PrintedColumn], rows: Sequence[dict[str, Any]]) -> str:
    text = io.StringIO()
    writer = csv.writer(text, lineterminator="\n")
    writer.writerow([column.key for column in columns])
    writer.writerows([row[column.key] for column in columns] for row in rows)
    return text.getvalue().rstrip("\n")


def render(
    columns: Sequence[PrintedColumn],
    rows: Sequence[dict[str, Any]],
    sections: dict[str, list[str]],
    form: str,
) -> str:
    """Render a table with remarks. CSV and LaTeX contain only the table.

    Parameters
    ----------
    columns : list of PrintedColumn
        The columns to show, in order.
    rows : list of dict
        Values by column key; None for a missing value.
    sections : dict
        Lines below the table, by heading; empty sections are left out.
    form : {"text", "markdown", "latex", "csv", "json"}
        The format. CSV and JSON have all digits.

    Returns
    -------
    str
    """
    if form == "csv":
        return _csv(columns, rows)
    if form == "latex":
        return _latex(columns, rows)
    if form == "json":
        table = [{column.key: row[column.key] for column in columns} for row in rows]
        return json.dumps({"table": table, **sections}, indent=2)
    if form == "markdown":
        table_of, heading, item = _markdown, "\n**{}**\n", "- {}"
    else:
        table_of, heading, item = _text, "\n{}:", "  {}"
    lines = [table_of(columns, rows)]
    for title, sentences in sections.items():
        if sentences:
            lines += [heading.format(title.capitalize()), *map(item.format, sentences)]
    return "\n".join(lines)
