"""Comparisons printed as in the paper: one table per measure, one line per dataset."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Sequence

import numpy as np

from lacforest.experiments._comparison import (
    TITLES,
    Cell,
    check_against_paper,
    check_compared,
    long_rows,
    win_tie_loss,
)
from lacforest.experiments._tables import latex_table

_MARKS = {"win": "●", "loss": "○", "tie": " ", None: " "}
_LATEX_MARKS = {"win": r"$\bullet$", "loss": r"$\circ$", "tie": "", None: ""}
_NOTE = (
    "Mean ± standard deviation over the splits. ● / ○: {first} is significantly better / worse "
    "than the method (paired t-test at 95 %). In brackets: the result of the paper."
)


def _number(value: float) -> str:
    """Four decimals without the leading zero, as in the paper."""
    return f"{value:.4f}".removeprefix("0")


def _show(cell: Cell) -> str:
    text = f"{_number(cell.mean)}±{_number(cell.deviation)}{_MARKS[cell.verdict]}"
    return text if cell.paper is None else f"{text} ({_number(cell.paper[0])})"


def _show_latex(cell: Cell) -> str:
    mark = _LATEX_MARKS[cell.verdict]
    return rf"{_number(cell.mean)}$\pm${_number(cell.deviation)}{mark}"


def _lines(cells: Sequence[Cell], measure: str, show: Callable[[Cell], str]) -> list[list[str]]:
    """Titles, datasets, average, win/tie/loss."""
    own = [cell for cell in cells if cell.measure == measure]
    methods = list(dict.fromkeys(cell.method for cell in own))
    names = list(dict.fromkeys(cell.dataset for cell in own))
    lines = [["dataset", *methods]]
    for name in names:
        row = {cell.method: cell for cell in own if cell.dataset == name}
        lines.append([name, *(show(row[method]) for method in methods)])
    if len(names) > 1:
        means = [np.mean([c.mean for c in own if c.method == method]) for method in methods]
        lines.append(["average", *(_number(float(mean)) for mean in means)])
    if len(methods) > 1:
        counts = [win_tie_loss(cells, method, measure) for method in methods[1:]]
        lines.append(["win/tie/loss", "", *counts])
    return lines


def _text(lines: list[list[str]]) -> str:
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    return "\n".join(
        "  ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)).rstrip()
        for line in lines
    )


def _markdown(lines: list[list[str]]) -> str:
    lines = [lines[0], ["---"] * len(lines[0]), *lines[1:]]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _checks(cells: Sequence[Cell]) -> list[str]:
    return [*check_against_paper(cells), *check_compared(cells)]


def render_comparison(cells: Sequence[Cell], form: str) -> str:
    """Tables of all measures; CSV and JSON have all digits and one row per cell."""
    rows = long_rows(cells)
    if form == "csv":
        text = io.StringIO()
        writer = csv.DictWriter(text, list(rows[0]), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
        return text.getvalue().rstrip("\n")
    if form == "json":
        return json.dumps({"table": rows, "checks": _checks(cells)}, indent=2)
    blocks = []
    for measure, title in TITLES.items():
        if form == "latex":
            lines = _lines(cells, measure, _show_latex)
            blocks.append(latex_table(lines, "l" + "c" * (len(lines[0]) - 1), title))
        elif form == "markdown":
            blocks.append(f"**{title}**\n\n{_markdown(_lines(cells, measure, _show))}")
        else:
            blocks.append(f"{title}\n{_text(_lines(cells, measure, _show))}")
    if form != "latex":
        blocks.append(_NOTE.format(first=cells[0].method))
        blocks.append("\n".join(_checks(cells)))
    return "\n\n".join(block for block in blocks if block)
