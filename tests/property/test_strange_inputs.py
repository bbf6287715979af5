"""Arbitrary inputs to fit and predict give a clear error without side effects, or a valid model.

`make fuzz` runs these with many more examples.
"""

import warnings

import numpy as np
import pytest
import scipy.sparse as sp
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

from lacforest import LACForestClassifier

# scikit-learn detects NaN by a sum and fractions by a cast, both of which may warn.
pytestmark = pytest.mark.filterwarnings(
    "ignore:(invalid value|overflow) encountered in (reduce|cast)"
)

many = settings(max_examples=max(150, settings().max_examples))

# Edge cases of floats: signed zeros, subnormals, the largest values, neighbours of one.
EDGES = [
    *(0.0, -0.0, 1.0, -1.0, 1.0 + 2**-52, 5e-324, -5e-324, 1e-310, 2.2250738585072014e-308),
    *(3.4028234663852886e38, 3.5e38, -3.5e38, 1.7976931348623157e308, -1.7976931348623157e308),
    *(float("inf"), float("-inf"), float("nan")),
]
_number = st.one_of(st.sampled_from(EDGES), st.integers(-3, 3), st.floats(width=64))
_dtypes = st.sampled_from(["f8", "f4", "f2", "i8", "i1", "u8", "?", ">f8", "<i4", "c16", "O", "U3"])


def _cast(table, dtype):
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")  # a complex number loses its imaginary part
        try:
            return table.astype(dtype)
        except (OverflowError, ValueError):
            return table


@st.composite
def tables(draw, n_rows, n_columns):
    """A table of any type and memory layout, dense or sparse."""
    tame = draw(st.booleans())
    cells = st.integers(-2, 2).map(float) if tame else _number
    table = draw(hnp.arrays(np.float64, (n_rows, n_columns), elements=cells))
    form = draw(
        st.sampled_from(["plain"] * 4 + ["fortran", "strided", "reversed", "typed", "typed"])
    )
    if form == "fortran":
        return np.asfortranarray(table)
    if form == "strided":
        return np.repeat(table, 2, axis=0)[::2]
    if form == "reversed":
        return table[::-1, ::-1]
    if form == "typed":
        return _cast(table, draw(_dtypes))
    kind = draw(st.sampled_from(["dense"] * 4 + ["list", "csr", "csc", "coo", "read-only", "flat"]))
    if kind == "list":
        return table.tolist()
    if kind == "read-only":
        table.flags.writeable = False
    elif kind == "flat":
        return table.ravel()
    elif kind in ("csr", "csc", "coo"):
        return sp.coo_array(table).asformat(kind)
    return table


@st.composite
def labels(draw, n_rows):
    values = draw(
        st.sampled_from(
            [
                st.integers(0, 2),
                st.sampled_from(["a", "b", ""]),
                st.sampled_from([0.0, 1.0, float("nan"), 2.5]),
                st.sampled_from([None, "a", 1]),
                st.booleans(),
                st.sampled_from([-1, 2**40, -(2**63), 2**63 - 1]),
                st.sampled_from([1e300, -1e300]),
            ]
        )
    )
    made = draw(st.lists(values, min_size=n_rows, max_size=n_rows))
    form = draw(st.sampled_from(["list", "array", "array", "column"]))
    if form == "list":
        return made
    array = np.array(made, dtype=object if None in made else None)
    return array[:, None] if form == "column" else array


@st.composite
def inputs(draw):
    n_columns = draw(st.integers(0, 4))
    n_rows = draw(st.integers(0, 12))
    off = st.sampled_from([0] * 8 + [1])
    return {
        "X": draw(tables(n_rows, n_columns)),
        "y": draw(labels(n_rows + draw(off))),
        "X_unlabeled": draw(
            st.none() | st.integers(0, 12).flatmap(lambda n: tables(n, n_columns + draw(off)))
        ),
        "sample_weight": draw(
            st.none() | hnp.arrays(np.float64, n_rows + draw(off), elements=_number)
        ),
    }


parameters = st.fixed_dictionaries(
    {},
    optional={
        "theta": st.sampled_from([0.0, 0.5, 1.0, "auto", -1, 2, float("nan"), None, "x", "kme"]),
        "gamma": st.sampled_from([0.0, 0.5, 0.6, -1, float("nan"), "x", None]),
        "max_features": st.sampled_from([1, 2, 100, 0.5, 0.0, "sqrt", "log2", "x", None, True]),
        "max_depth": st.sampled_from([None, 1, 3, 0, -1, 1.5, 2**40, 10**400]),
        "min_samples_split": st.sampled_from([2, 5, 10**9, 10**400, 1, 0.5]),
        "min_samples_leaf": st.sampled_from([1, 3, 10**9, 10**400, 0, 0.5]),
        "bootstrap": st.sampled_from([True, False, "x"]),
        "class_weight": st.sampled_from([None, "balanced", {0: 2.0}, {0: -1}, {"a": 1e300}, 3]),
        "unlabeled_label": st.sampled_from([None, -1, 0, "a", float("nan")]),
        "new_label": st.sampled_from(["auto", -1, 0, "a", None, 1.5]),
        "n_jobs": st.sampled_from([None, 1, 2, 0, "x"]),
        "random_state": st.sampled_from([0, 2**32 - 1, -1, "x"]),
    },
)


def fit(arguments, options):
    """Return a fitted forest, or None if fit raised an expected error."""
    forest = LACForestClassifier(**({"n_estimators": 2, "random_state": 0} | options))
    before = dict(vars(forest))
    fitted, message = outcome(lambda: forest.fit(**arguments))
    if fitted is None:
        assert len(message) > 10  # the message is not empty
        assert vars(forest) == before
    return fitted


def outcome(call):
    """Return the result of a call, or the message of an expected error."""
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", UserWarning)
            return call(), ""
    except (TypeError, ValueError) as error:
        return None, str(error)


@many
@given(arguments=inputs(), options=parameters)
def test_fit_refuses_or_gives_a_sane_model(arguments, options):
    forest = fit(arguments, options)
    if forest is None:
        return
    probabilities = forest.predict_proba(arguments["X"])
    assert probabilities.shape[1] == len(forest.classes_)
    assert (probabilities >= 0).all()
    assert np.allclose(probabilities.sum(axis=1), 1.0)
    assert np.isfinite(forest.feature_importances_).all()
    forest._forest.validate()
    if forest.theta_ is not None:
        assert 0.0 <= forest.theta_ <= 1.0
        scores = forest.novelty_score(arguments["X"], "exploration")
        assert ((scores >= 0) & (scores <= 1)).all()


_rng = np.random.default_rng(0)
_FITTED = LACForestClassifier(n_estimators=3, theta=0.5, random_state=0).fit(
    _rng.normal(size=(40, 3)), np.repeat([0, 1], 20), X_unlabeled=_rng.normal(size=(50, 3))
)


@many
@given(data=st.data(), n_rows=st.integers(0, 8), n_columns=st.sampled_from([3, 3, 3, 0, 2, 4]))
def test_predict_refuses_or_answers(data, n_rows, n_columns):
    X = data.draw(tables(n_rows, n_columns))
    ask = data.draw(st.sampled_from(["predict", "predict_proba", "novelty_score", "apply"]))
    answer, message = outcome(lambda: getattr(_FITTED, ask)(X))
    if answer is None:
        assert len(message) > 10
        return
    assert len(answer) == n_rows
    if ask == "predict_proba":
        assert np.allclose(answer.sum(axis=1), 1.0)
