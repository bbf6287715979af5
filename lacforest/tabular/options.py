"""What a user wants of the columns of two tables, and the names by which it is said."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass, field

from lacforest.tabular.errors import (
    Advice,
    Problems,
    TableError,
    has_no_columns,
    listed,
    suggestion,
)
from lacforest.tabular.kinds import Coding
from lacforest.tabular.labels import meant_target

Sources = tuple[str, str]


@dataclass(frozen=True)
class CoderOptions:
    """What the user wants of the columns; see `TableCoder`."""

    categories: Coding = "native"
    drop: tuple[str, ...] = ()
    text: tuple[str, ...] = ()
    missing: tuple[str, ...] = ()
    use: tuple[str, ...] = ()
    dates: bool = False
    advice: Advice = field(default_factory=Advice)


def check_names(
    columns: tuple[Collection[str], Collection[str]],
    target: str | None,
    sources: Sources,
    options: CoderOptions,
    problems: Problems,
) -> None:
    """Collect what is wrong with the names of columns of two tables, and with those in options."""
    advice, both = options.advice, [*dict.fromkeys([*columns[0], *columns[1]])]
    meant = None
    if target is not None:
        meant = meant_target(target, columns[0], {*columns[1], *options.drop})
        with problems.collecting():
            if meant != target:
                raise TableError(has_no_columns(sources[0], [target], columns[0], meant))
    for names, word in ((options.drop, "drop"), (options.text, "text"), (options.use, "use")):
        absent = [name for name in names if name not in both]
        with problems.collecting():
            if absent:
                raise TableError(
                    f"{advice.option(word, *absent)}: neither {sources[0]} nor {sources[1]} has "
                    f"such a column{suggestion(absent, both)}; {sources[0]} has "
                    f"{listed(columns[0])}"
                )
    twice = [name for name in options.use if name in options.drop]
    with problems.collecting():
        if twice:
            raise TableError(
                f"{listed(twice)} cannot be used and left out at the same time: remove "
                f"{advice.option('use', *twice)} or {advice.option('drop', *twice)}"
            )
    for here, there in ((0, 1), (1, 0)):
        if here == 0 and meant is None and target is not None:
            continue  # one of the columns that only labelled rows have holds the labels
        unused = {*options.drop, meant, *columns[there]}
        alone = [name for name in columns[here] if name not in unused]
        with problems.collecting():
            if alone:
                word = "column" if len(alone) == 1 else "columns"
                raise TableError(
                    f"{sources[here]} has the {word} {listed(alone)}, but {sources[there]} does "
                    f"not: add what is missing, or use {advice.option('drop', *alone)}"
                )
