"""Examples in docstrings and on the page of the neural forest."""

import doctest
import importlib
import pkgutil
from pathlib import Path

import pytest

import lacforest.neural

DOCS = Path(__file__).parents[2] / "docs"


def modules():
    found = pkgutil.iter_modules(lacforest.neural.__path__, "lacforest.neural.")
    return [info.name for info in found]


@pytest.mark.parametrize("name", modules())
def test_examples_in_docstrings(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


@pytest.mark.parametrize("page", ["neural.rst", "hybrid.rst"])
def test_examples_on_the_pages(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = doctest.testfile(str(DOCS / page), module_relative=False)
    assert result.attempted > 5
    assert result.failed == 0


def test_public_names():
    assert sorted(lacforest.neural.__all__) == lacforest.neural.__all__
    for name in lacforest.neural.__all__:
        assert getattr(lacforest.neural, name).__doc__
