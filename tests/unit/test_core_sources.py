"""Rules that the sources of the compiled core state about themselves."""

import re
from pathlib import Path

import pytest

CORE = Path(__file__).parents[2] / "lacforest" / "_tree"
SOURCES = sorted([*CORE.glob("*.pyx"), *CORE.glob("*.pxd")])
MOST_PARAMETERS = 9
MOST_LINES = 400

every_source = pytest.mark.parametrize("path", SOURCES, ids=lambda path: path.name)


def code_of(text):
    """The text without comments and docstrings."""
    text = re.sub(r'"""(?:.|\n)*?"""', "", text)
    return re.sub(r"#.*", "", text)


def read(path):
    return code_of(path.read_text(encoding="utf-8"))


def functions(code):
    """Name and parameters of every function, as (name, [parameter, ...])."""
    found = []
    for match in re.finditer(r"^[ ]*(?:def|cdef|cpdef)\b[^=(\n:]*?(\w+)\(", code, re.M):
        depth, start, parameters = 1, match.end(), []
        for place in range(match.end(), len(code)):
            depth += (code[place] in "([") - (code[place] in ")]")
            if depth == 0 or (depth == 1 and code[place] == ","):
                parameters.append(code[start:place].strip())
                start = place + 1
            if depth == 0:
                break
        kept = [each for each in parameters if each and each not in ("self", "cls", "*")]
        found.append((match[1], kept))
    return found


def constants(code):
    """Names that the enums of a file declare."""
    names = []
    for body in re.findall(r"^cdef enum\b.*:\n((?:[ ]+.*\n|\n)+)", code, re.M):
        names += re.findall(r"^[ ]+(\w+)", body, re.M)
    return names


def declared_types(code):
    pattern = r"^(?:cdef (?:packed )?(?:struct|union) (\w+)|ctypedef (?!.*\bclass\b).*?(\w+):?$)"
    return [first or second for first, second in re.findall(pattern, code, re.M)]


def test_what_the_rules_are_checked_by():
    code = code_of(
        "cdef inline int64_t f(const a_t* a, b_t[:, :] b,\n    int c=g(1, 2)) noexcept nogil:\n"
        "    cdef int64_t x = h(1, 2, 3)  # cdef int no(a, b)\n"
        '    """cdef void none(a)"""\n'
        "    def method(self, *, a, b):\n"
        "cdef struct S:\n    int a\n"
        "ctypedef fused t:\n    int\n"
        "ctypedef uint32_t u\n"
        "cdef enum:\n    ONE = 1\n\n    TWO = 2\n"
    )
    counted = [(name, len(parameters)) for name, parameters in functions(code)]
    assert counted == [("f", 3), ("method", 2)]
    assert declared_types(code) == ["S", "t", "u"]
    assert constants(code) == ["ONE", "TWO"]


@every_source
def test_no_function_has_too_many_parameters(path):
    for name, parameters in functions(read(path)):
        assert len(parameters) <= MOST_PARAMETERS, name


def test_functions_are_found():
    names = {name for path in SOURCES for name, _ in functions(read(path))}
    assert {"grow_trees", "out_of_bag_sums", "find_best_cut", "consider", "acquire"} <= names


@every_source
def test_files_are_short(path):
    assert len(path.read_text(encoding="utf-8").splitlines()) < MOST_LINES


@every_source
def test_types_are_declared_in_one_file(path):
    declared = declared_types(read(path))
    assert (
        ("Node" in declared and "value_t" in declared) if path.name == "types.pxd" else not declared
    )


def test_shared_constants_are_declared_with_the_types():
    for path in SOURCES:
        if path.name == "types.pxd":
            continue
        for name in constants(read(path)):
            # A .pyx shares the names of its .pxd.
            others = [other for other in SOURCES if other.stem != path.stem]
            assert not [other.name for other in others if re.search(rf"\b{name}\b", read(other))], (
                name
            )


def test_only_the_criterion_knows_which_criterion_it_is():
    found = {path.name for path in SOURCES if "criterion_t is" in read(path)}
    assert found == {"criterion.pxd"}


def test_the_search_reads_no_column():
    # It scans what statistics builds, or reads the rows that a table was copied to. Prediction by
    # codes walks the columns too.
    found = {path.name for path in SOURCES if re.search(r"\.column\[", read(path))}
    assert found == {"coded_columns.pyx", "statistics.pxd", "statistics.pyx", "partition.pyx"}


def test_every_compiled_module_has_a_stub():
    modules = {path.stem for path in CORE.glob("*.pyx")}
    assert modules == {path.stem for path in CORE.glob("*.pyi")}


@every_source
def test_one_vocabulary(path):
    text = path.read_text(encoding="utf-8")
    assert not re.findall(r"(?i)\b(?:phases?|stages?|bench(?:es)?|seat(?:ed|s)?|tag)\b", text)
