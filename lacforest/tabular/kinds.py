"""The kinds of columns that a table may have, and the codings of text."""

from __future__ import annotations

from typing import Literal

Kind = Literal["number", "boolean", "text", "date"]
Coding = Literal["native", "ordinal", "onehot"]
CODINGS: tuple[Coding, ...] = ("native", "ordinal", "onehot")
# The content of a column of each kind, for messages.
CONTENTS: dict[Kind, str] = {
    "number": "numbers",
    "boolean": "true or false",
    "text": "text",
    "date": "dates or times",
}
