"""Examples in docstrings and on the page of the neural forest."""

import doctest
import importlib
import pkgutil
from pathlib import Path

import pytest

import lacforest.neural

PAGE = Path(__file__).parents[2] / "docs" / "neural.rst"


def modules():
    found = pkgutil.iter_modules(lacforest.neural.__path__, "lacforest.neural.")
    return [info.name for info in found]


@pytest.mark.parametrize("name", modules())
def test_examples_in_docstrings(name):
    assert doctest.testmod(importlib.import_module(name)).failed == 0


def test_examples_on_the_page(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = doctest.testfile(str(PAGE), module_relative=False)
    assert result.attempted > 5
    assert result.failed == 0


def test_public_names():
    assert sorted(lacforest.neural.__all__) == lacforest.neural.__all__
    for name in lacforest.neural.__all__:
        assert getattr(lacforest.neural, name).__doc__
