"""A self-contained page for light and dark mode, and for wide and narrow screens."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from html import escape

from lacforest._utils.atomic import atomic_file
from lacforest.report._pictures import Picture

_STYLE = """
:root { color-scheme: light dark; --ink: #1d2430; --soft: #5b6676; --paper: #ffffff;
  --card: #f4f6f9; --line: #d9dee6; --ok: #1a7f4b; --caution: #9a6200; --problem: #b3261e; }
@media (prefers-color-scheme: dark) { :root { --ink: #e6eaf0; --soft: #9aa6b6; --paper: #14181f;
  --card: #1d232d; --line: #313a48; --ok: #5ac98d; --caution: #e5b25d; --problem: #ff8a80; } }
* { box-sizing: border-box; }
body { margin: 0; background: var(--paper); color: var(--ink);
  font: 16px/1.5 system-ui, -apple-system, "Segoe UI", Roboto, sans-serif; }
main { max-width: 76rem; margin: 0 auto; padding: 1.5rem 1rem 4rem; }
h1 { font-size: 1.6rem; line-height: 1.25; margin: 0 0 .25rem; }
h2 { font-size: 1.15rem; margin: 2.25rem 0 .75rem; }
p { margin: .5rem 0; } .soft { color: var(--soft); }
.cards { display: grid; gap: .75rem; grid-template-columns: repeat(auto-fit, minmax(9rem, 1fr));
  margin: 1.25rem 0; }
.card { background: var(--card); border-radius: .6rem; padding: .75rem .9rem; }
.card b { display: block; font-size: 1.35rem; font-variant-numeric: tabular-nums; }
.card span { color: var(--soft); font-size: .85rem; }
.pictures { display: flex; flex-wrap: wrap; gap: 1rem; }
figure { margin: 0; flex: 1 1 20rem; min-width: min(20rem, 100%); max-width: 37rem;
  background: var(--card); border-radius: .6rem; padding: .75rem; }
figure img { display: block; width: 100%; height: auto; }
/* Four pictures stand two by two, so that none is left over in a row of its own. */
figure:first-child:nth-last-child(4), figure:first-child:nth-last-child(4) ~ figure {
  flex-basis: 28rem; }
figure:only-child { display: flex; flex-wrap: wrap; gap: 0 1.5rem; align-items: center;
  max-width: none; }
figure:only-child picture { flex: 0 1 34rem; } figure:only-child figcaption { flex: 1 1 14rem; }
figcaption { color: var(--soft); font-size: .875rem; margin-top: .5rem; }
.scroll { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; font-size: .925rem; }
th, td { padding: .35rem .8rem .35rem 0; border-bottom: 1px solid var(--line); text-align: left; }
table { width: 100%; } td { min-width: 3.2rem; }
td:first-child, td:last-child { overflow-wrap: anywhere; }
/* A table of many columns scrolls, rather than break its last column into letters. */
td:nth-child(n+5):last-child { min-width: 14rem; }
.pairs thead { position: absolute; clip-path: inset(50%); }
.pairs tbody { display: grid; column-gap: 2.5rem;
  grid-template-columns: repeat(auto-fit, minmax(min(20rem, 100%), 1fr)); }
.pairs tr { display: flex; justify-content: space-between; gap: 1rem;
  border-bottom: 1px solid var(--line); }
.pairs td { border: 0; overflow-wrap: anywhere; }
.pairs td:last-child { padding-right: 0; text-align: right; min-width: 4rem; }
ul.findings { list-style: none; padding: 0; margin: 0; }
ul.findings li { padding: .5rem 0 .5rem 1.6rem; position: relative;
  border-bottom: 1px solid var(--line); }
ul.findings li::before { position: absolute; left: 0; font-weight: 700; }
li.ok::before { content: "\\2713"; color: var(--ok); }
li.caution::before { content: "!"; color: var(--caution); }
li.problem::before { content: "\\2717"; color: var(--problem); }
footer { margin-top: 3rem; color: var(--soft); font-size: .85rem; }
"""


@dataclass(frozen=True)
class Card:
    """A value and its description."""

    value: str
    label: str


@dataclass(frozen=True)
class Table:
    """Rows of text, with a line of titles if there are any."""

    titles: Sequence[str]
    rows: Sequence[Sequence[str]]


@dataclass(frozen=True)
class Section:
    """A heading and its content, in this order; empty parts are left out."""

    title: str
    text: str = ""
    findings: Sequence[tuple[str, str]] = ()
    table: Table | None = None
    pictures: Sequence[Picture] = field(default=())


@dataclass(frozen=True)
class Page:
    """A whole report."""

    title: str
    lead: str
    cards: Sequence[Card]
    sections: Sequence[Section]
    foot: str


def _picture(picture: Picture) -> str:
    return (
        "<figure><picture>"
        f'<source media="(prefers-color-scheme: dark)" srcset="{picture.dark}">'
        f'<img src="{picture.light}" alt="{escape(picture.alt)}">'
        f"</picture><figcaption>{escape(picture.caption)}</figcaption></figure>"
    )


def _table(table: Table) -> str:
    head = ""
    if table.titles:
        titles = "".join(f"<th>{escape(title)}</th>" for title in table.titles)
        head = f"<thead><tr>{titles}</tr></thead>"
    body = "".join(
        f"<tr>{''.join(f'<td>{escape(cell)}</td>' for cell in row)}</tr>" for row in table.rows
    )
    # Pairs of a name and a value stand side by side where the screen is wide.
    kind = ' class="pairs"' if all(len(row) == 2 for row in table.rows) else ""
    return f'<div class="scroll"><table{kind}>{head}<tbody>{body}</tbody></table></div>'


def _section(section: Section) -> str:
    parts = [f"<h2>{escape(section.title)}</h2>"]
    if section.text:
        parts.append(f"<p>{escape(section.text)}</p>")
    if section.findings:
        items = (f'<li class="{level}">{escape(text)}</li>' for level, text in section.findings)
        parts.append(f'<ul class="findings">{"".join(items)}</ul>')
    if section.table is not None:
        parts.append(_table(section.table))
    if section.pictures:
        parts.append(f'<div class="pictures">{"".join(map(_picture, section.pictures))}</div>')
    return f"<section>{''.join(parts)}</section>"


def render_page(page: Page) -> str:
    """The page as HTML; all text is escaped."""
    cards = "".join(
        f'<div class="card"><b>{escape(card.value)}</b><span>{escape(card.label)}</span></div>'
        for card in page.cards
    )
    return (
        '<!doctype html><html lang="en"><head><meta charset="utf-8">'
        '<meta name="viewport" content="width=device-width, initial-scale=1">'
        f"<title>{escape(page.title)}</title><style>{_STYLE}</style></head><body><main>"
        f'<h1>{escape(page.title)}</h1><p class="soft">{escape(page.lead)}</p>'
        f'<div class="cards">{cards}</div>'
        f"{''.join(map(_section, page.sections))}"
        f"<footer>{escape(page.foot)}</footer></main></body></html>\n"
    )


def write_page(page: Page, path: str | os.PathLike[str]) -> None:
    """Write the page to a file, completely or not at all."""
    with atomic_file(path) as file:
        file.write(render_page(page).encode())
