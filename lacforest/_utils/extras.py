"""Packages that only an extra of lacforest installs."""

from __future__ import annotations

import importlib
from typing import Any


class MissingExtraError(ModuleNotFoundError):
    """A package of an extra is not installed; the message says how to install it."""


def load_extra(name: str, extra: str = "cli") -> Any:
    """Import a module of a package that an extra installs.

    Parameters
    ----------
    name : str
        Such as "pandas" or "pyarrow.csv".
    extra : str, default="cli"
    """
    try:
        return importlib.import_module(name)
    except ModuleNotFoundError as error:
        package = name.partition(".")[0]
        raise MissingExtraError(
            f"this needs {package}, which is not installed: pip install 'lacforest[{extra}]' "
            f"(in a checkout: pip install '.[{extra}]')"
        ) from error
