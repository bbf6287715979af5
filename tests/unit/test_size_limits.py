"""Files of at most 400 lines, and functions of at most nine parameters."""

import ast
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("lacforest", "tests", "tools", "asv_benchmarks", "examples", "docs")
MOST_LINES = 400
MOST_PARAMETERS = 9


def sources(*suffixes):
    found = [path for folder in FOLDERS for path in (ROOT / folder).rglob("*")]
    # What the documentation build generates is not ours to shorten.
    own = [path for path in found if not {"_build", "auto_examples", "generated"} & {*path.parts}]
    return sorted(path for path in own if path.suffix in suffixes)


def test_no_file_is_too_long():
    lengths = {
        path.relative_to(ROOT).as_posix(): len(path.read_text(encoding="utf-8").splitlines())
        for path in sources(".py", ".pyx", ".pxd", ".pyi")
    }
    assert len(lengths) > 200
    assert {name: n for name, n in lengths.items() if n > MOST_LINES} == {}


def parameters_of(function):
    every = function.args.posonlyargs + function.args.args + function.args.kwonlyargs
    return [one.arg for one in every if one.arg not in ("self", "cls")]


def only_keeps_its_parameters(function):
    """Whether every parameter becomes an attribute of its name, here or in the base class.

    scikit-learn asks this of the constructor of an estimator, and that each parameter is named in
    it: such a constructor is a list of settings, and may be long.
    """
    kept = set()
    for node in ast.walk(function):
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name):
            kept |= {
                target.attr
                for target in node.targets
                if isinstance(target, ast.Attribute) and target.attr == node.value.id
            }
        if isinstance(node, ast.Call) and "super().__init__" in ast.unparse(node.func):
            passed = [*node.args, *(keyword.value for keyword in node.keywords)]
            kept |= {value.id for value in passed if isinstance(value, ast.Name)}
    return function.name == "__init__" and set(parameters_of(function)) <= kept


def too_many_parameters(code):
    return {
        function.name: len(parameters_of(function))
        for function in ast.walk(ast.parse(code))
        if isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef)
        and len(parameters_of(function)) > MOST_PARAMETERS
        and not only_keeps_its_parameters(function)
    }


def test_no_python_function_has_too_many_parameters():
    found = {}
    for path in sources(".py"):
        for name, n in too_many_parameters(path.read_text(encoding="utf-8")).items():
            found[f"{path.relative_to(ROOT).as_posix()}: {name}"] = n
    assert found == {}


MANY = ", ".join("abcdefghij")
KEEPING = "; ".join(f"self.{name} = {name}" for name in "abcdefghij")


@pytest.mark.parametrize(
    ("code", "found"),
    [
        (f"def f({MANY}): pass", {"f": 10}),
        (f"class A:\n    def f(self, *, {MANY}): pass", {"f": 10}),
        (f"class A:\n    def f(self, {MANY[:-3]}): pass", {}),
        (f"class A:\n    def __init__(self, {MANY}): pass", {"__init__": 10}),
        (f"class A:\n    def __init__(self, {MANY}): {KEEPING}", {}),
        (
            f"class A:\n    def __init__(self, {MANY}): super().__init__({MANY})",
            {},
        ),
        (f"class A:\n    def __init__(self, {MANY}): super().__init__(a)", {"__init__": 10}),
    ],
)
def test_what_counts_as_too_many(code, found):
    assert too_many_parameters(code) == found
