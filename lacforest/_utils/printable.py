"""Text from tables and files, made safe for terminals and messages."""

from __future__ import annotations

from typing import Any

_MAX_NAME = 60


def printable(text: str) -> str:
    """The text with escapes for all characters that a terminal would act on."""
    if text.isprintable():
        return text
    return "".join(
        char if char.isprintable() else char.encode("unicode_escape").decode() for char in text
    )


def shown(name: Any, limit: int = _MAX_NAME) -> str:
    """A name for a message, in quotes if it is text, and cut if it is long."""
    text = repr(name)
    if len(text) <= limit:
        return text
    kept = limit // 2 - 2
    return f"{text[:kept]}...{text[-kept:]}"


def counted(n: int, what: str) -> str:
    """A number of things, such as 1 row or 2,000 rows."""
    return f"{n:,} {what}" if n == 1 else f"{n:,} {what}s"
