"""Write docs/modules.txt: every module of the package with the first line of its docstring.

The architecture page includes the list. ``python tools/list_modules.py`` writes it anew;
tests/unit/test_docs.py fails where it is out of date.
"""

from __future__ import annotations

import ast
from pathlib import Path

ROOT = Path(__file__).parents[1]
LIST = ROOT / "docs" / "modules.txt"


def summary(path: Path) -> str:
    """The first line of a module's docstring."""
    text = path.read_text(encoding="utf-8")
    if path.suffix == ".py":
        docstring = ast.get_docstring(ast.parse(text)) or ""
    else:
        docstring = text.split('"""')[1] if text.startswith('"""') else ""
    return docstring.strip().split("\n\n")[0].replace("\n", " ")


def list_modules() -> str:
    """One line per module, rooms apart; a .pyx file speaks for the .pxd file beside it."""
    source = ROOT / "lacforest"
    lines = []
    for folder in sorted({path.parent for path in source.rglob("*.py")}):
        names: dict[str, Path] = {}
        for pattern in ("*.pxd", "*.pyx", "*.py"):
            names |= {path.stem: path for path in folder.glob(pattern)}
        lines.append(f"{folder.relative_to(ROOT).as_posix()}/")
        for stem, path in sorted(names.items()):
            if stem not in ("__init__", "__main__"):
                lines.append(f"    {stem:<24} {summary(path)}")
    return "\n".join(lines) + "\n"


if __name__ == "__main__":
    LIST.write_text(list_modules(), encoding="utf-8")
