"""The walk of a fit: few files, in the order that the architecture page gives."""

import importlib.util
from pathlib import Path

import lacforest

ROOT = Path(__file__).parents[2]
_spec = importlib.util.spec_from_file_location("trace_fit", ROOT / "tools" / "trace_fit.py")
trace_fit = importlib.util.module_from_spec(_spec)
_spec.loader.exec_module(trace_fit)


def test_a_fit_visits_few_files_in_the_documented_order():
    forest = lacforest.LACForestClassifier(3, theta=0.5, known_shares="labeled", random_state=0)
    visited = list(dict.fromkeys(trace_fit.trace_fit(forest)))
    lines = (ROOT / "docs" / "walk.txt").read_text(encoding="utf-8").splitlines()
    assert visited == [line.split()[0] for line in lines]
    assert len(visited) < 15
