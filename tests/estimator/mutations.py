"""Model files changed at random, and what a loaded one must still be able to do.

Checksums catch nearly every blind change, so most mutants have theirs set right again: they reach
the code behind. A mutant is a function of its seed alone, so that a failure can be seen again.
"""

import copy
import json
import zlib
from dataclasses import dataclass

import numpy as np
from model_files import lay_out, put_together, take_apart
from two_blobs import U, X, fitted_forest, small_forest, y

from lacforest import LACForestClassifier
from lacforest._persistence import MAGIC, ModelFileError, save_forest
from lacforest.tabular import TabularModel

INTERESTING = [
    *(None, True, False, 0, 1, -1, 2, 3, 7, 63, 64, 255, 1e-300, 0.5, -0.5, 1.0, 1.5, 1e308),
    *(2**31 - 1, 2**31, -(2**31), 2**32, 2**48, 2**53 + 1, 2**63 - 1, 2**63, 2**64, 10**400),
    *("", "auto", "0", "nan", "<new>", "\x00", "\ud800", "é", "O", "<f8", "<U9", "M8[D]", "V8"),
    *("float32", "float64", "int32", "int64", "bool", "node", "<i8", "a" * 2000),
    *([], {}, [[]], [0], [1, 2], [None], {"": 0}, {"float": "nan"}, {"float": "x"}, {"float": 1}),
    *({"pairs": []}, {"pairs": [[0, 1]]}, {"pairs": [[{}, 0]]}, {"pairs": 3}),
    *({"numpy": "<f8", "value": 1}, {"numpy": "<U0", "value": "ab"}, {"numpy": "O", "value": 0}),
    {"theta_estimator": "BestBin", "parameters": {"pairs": []}},
    {"theta_estimator": "BestBin", "parameters": {"pairs": [["n_estimators", "x"]]}},
    {"theta_estimator": ["BestBin"], "parameters": None},
]
NUMBERS = [
    *(0, 1, -1, 2, 0.5, -0.5, 1e-40, 1e300, -1e300, np.inf, -np.inf, np.nan),
    *(127, 255, 2**15, 2**31 - 1, -(2**31), 2**40, 2**62),
]
DTYPES = ["<f4", "<f8", "<i4", "<i8", "?"]


@dataclass(frozen=True)
class Seed:
    """An intact file, whole and taken apart."""

    content: bytes
    header: dict
    arrays: dict


def seeds(folder):
    """One intact file of every kind: labels, names, weights, attachments, deflated or not."""
    rng = np.random.default_rng(1)
    weight = rng.random(len(y)) + 0.5
    named = small_forest(n_estimators=2, max_depth=3, max_features=2, random_state=None)
    named.feature_names_in_ = np.array(["a", "b", "c"], dtype=object)
    named.fit(X, np.array(["ham", "spam"])[y], X_unlabeled=U)
    named.feature_names_in_ = np.array(["a", "b", "c"], dtype=object)
    forests = [
        fitted_forest(n_estimators=2, max_depth=3),
        fitted_forest(n_estimators=1, max_depth=1, new_label=-5, n_jobs=1, verbose=0),
        small_forest(n_estimators=2, max_depth=2).fit(X, y),
        small_forest(n_estimators=2, max_depth=3, class_weight={0: 1.0, 1: 2.5}).fit(
            X, y, sample_weight=weight, X_unlabeled=U
        ),
        named,
    ]
    coding = {
        "version": 1,
        "categories": "ordinal",
        "columns": [
            {"name": "x", "kind": "number"},
            {"name": "y", "kind": "boolean"},
            {"name": "z", "kind": "text", "categories": ["p", "q"]},
        ],
        "dropped": {"id": "it holds a different value in every row"},
        "missing": ["", "NA"],
    }
    attachment = {"table": coding, "target": "kind", "lacforest": "0.1.0"}
    made = []
    for number, forest in enumerate(forests):
        path = folder / f"seed-{number}.lac"
        for compress in (False, True):
            save_forest(forest, path, compress, attachment if number % 2 else None)
            content = path.read_bytes()
            if not compress:
                header, arrays = take_apart(path)
            made.append(Seed(content, header, arrays))
    return made


# ---------------------------------------------------------------------------- mutations


def _pick(rng, items):
    return items[int(rng.integers(len(items)))]


def _damage(rng, content):
    """A few changes to bytes: flips, other bytes, cuts, insertions, copies of a block."""
    content = bytearray(content)
    for _ in range(int(rng.integers(1, 4))):
        at = int(rng.integers(len(content) + 1))
        length = int(rng.integers(1, 17))
        kind = rng.integers(6)
        if kind == 0 and at < len(content):
            content[at] ^= 1 << int(rng.integers(8))
        elif kind == 1 and at < len(content):
            content[at] = int(rng.integers(256))
        elif kind == 2:
            del content[at : at + length]
        elif kind == 3:
            content[at:at] = rng.bytes(length)
        elif kind == 4:
            other = int(rng.integers(len(content) + 1))
            content[at : at + length] = content[other : other + length]
        else:
            del content[at:]
    return bytes(content)


def _slots(value, found):
    """Every place in a JSON value that can be set: (container, key)."""
    keys = value.keys() if isinstance(value, dict) else range(len(value))
    for key in keys:
        found.append((value, key))
        if isinstance(value[key], dict | list):
            _slots(value[key], found)
    return found


def _change_value(rng, header):
    slots = _slots(header, [])
    container, key = _pick(rng, slots)
    kind = rng.integers(6)
    value = container[key]
    if kind == 0:
        del container[key]
    elif kind == 1:
        other, other_key = _pick(rng, slots)
        if other_key in other if isinstance(other, dict) else other_key < len(other):
            container[key] = copy.deepcopy(other[other_key])
    elif kind == 2 and isinstance(container, list):
        container.append(copy.deepcopy(value))
    elif kind == 3 and isinstance(value, int | float) and not isinstance(value, bool):
        container[key] = value + _pick(rng, [-64, -1, 1, 64, 0.5, -value])
    else:
        container[key] = copy.deepcopy(_pick(rng, INTERESTING))


def _change_array(rng, arrays):
    name = _pick(rng, sorted(arrays))
    array = arrays[name]
    kind = rng.integers(8)
    if kind == 0:
        arrays[name] = array[: int(rng.integers(len(array) + 1))].copy()
    elif kind == 1:
        arrays[name] = np.concatenate([array, array[: int(rng.integers(len(array) + 1))]])
    elif kind == 2 and array.dtype.names is None:
        with np.errstate(all="ignore"):
            arrays[name] = array.astype(_pick(rng, DTYPES))
    elif kind == 3 and array.ndim == 2:
        arrays[name] = np.ascontiguousarray(array[:, : int(rng.integers(3))])
    elif array.size:
        field = _pick(rng, array.dtype.names) if array.dtype.names else None
        target = array if field is None else array[field]
        if kind == 4:
            raw = array.view(np.uint8).reshape(-1)
            raw[int(rng.integers(len(raw)))] = int(rng.integers(256))
        elif kind == 5:
            one, other = rng.integers(target.size, size=2)
            target.flat[one] = target.flat[other]
        elif kind == 6:
            with np.errstate(all="ignore"):
                target.flat[int(rng.integers(target.size))] += target.dtype.type(
                    _pick(rng, [1, -1] if target.dtype != bool else [1])
                )
        else:
            number = np.array([_pick(rng, NUMBERS)])
            with np.errstate(all="ignore"):
                target.flat[int(rng.integers(target.size))] = number.astype(target.dtype)[0]


def write_mutant(path, seed_files, *seed):
    """Write the mutant of a seed to `path`."""
    rng = np.random.default_rng(seed)
    origin = _pick(rng, seed_files)
    kind = rng.random()
    if kind < 0.15:  # checksums as they were
        path.write_bytes(_damage(rng, origin.content))
        return
    header, arrays = copy.deepcopy(origin.header), copy.deepcopy(origin.arrays)
    if kind < 0.3:  # the text of a header, byte by byte
        payload = lay_out(header, arrays, bool(rng.integers(2)))
        put_together(path, _damage(rng, json.dumps(header).encode()), payload)
        return
    if kind > 0.55:
        for _ in range(int(rng.integers(1, 4))):
            _change_array(rng, arrays)
    payload = lay_out(header, arrays, bool(rng.integers(2)))
    if kind < 0.6:
        for _ in range(int(rng.integers(1, 4))):
            _change_value(rng, header)
    put_together(path, header, payload)
    if kind > 0.97:  # sizes at the front, with the header's own checksum
        content = bytearray(path.read_bytes())
        content[len(MAGIC) + int(rng.integers(8))] = int(rng.integers(256))
        length = min(int.from_bytes(content[8:16], "little"), len(content))
        content[16 + length : 20 + length] = zlib.crc32(content[16 : 16 + length]).to_bytes(
            4, "little"
        )
        path.write_bytes(bytes(content))


# ---------------------------------------------------------------------------- verdict


def load_or_refusal(load, path):
    """A model, or the message of the one error that `load` may raise."""
    try:
        return load(path), ""
    except ModelFileError as error:
        return None, str(error)


def is_refused(path):
    """Whether `load` refuses a file, naming it; else the model works."""
    model, message = load_or_refusal(LACForestClassifier.load, path)
    table_model, table_message = load_or_refusal(TabularModel.load, path)
    if table_model is not None:
        assert_takes_tables(table_model)
    else:
        assert str(path) in table_message
    if model is None:
        assert str(path) in message
        return True
    assert_works(model)
    again = path.with_name("again.lac")
    model.save(again)
    rows = _rows_for(model)
    assert np.array_equal(
        LACForestClassifier.load(again).predict_proba(rows), model.predict_proba(rows)
    )
    return False


def _rows_for(model):
    rows = np.random.default_rng(0).normal(size=(7, model.n_features_in_))
    rows[2, 0], rows[3] = np.nan, 1e300
    if not hasattr(model, "feature_names_in_"):
        return rows
    import pandas as pd

    return pd.DataFrame(rows, columns=model.feature_names_in_)


def assert_takes_tables(model):
    """A model for tables labels a row of its own columns."""
    import pandas as pd

    cells = {"number": 1.5, "boolean": True, "text": "p"}
    frame = pd.DataFrame({name: [cells[kind]] for name, kind in model.coder.kinds.items()})
    assert len(model.predict(frame)) == 1


def assert_works(model):
    """Everything that reads a fitted forest runs, and gives numbers that make sense."""
    rows = _rows_for(model)
    probabilities = model.predict_proba(rows)
    assert probabilities.shape == (7, len(model.classes_))
    assert (probabilities >= 0).all()
    assert np.allclose(probabilities.sum(axis=1), 1.0)
    assert np.isin(model.predict(rows), model.classes_).all()
    leaves, trees = model.apply(rows), model.estimators_
    assert leaves.shape == (7, len(trees))
    for leaf, tree in zip(leaves.T, trees, strict=True):
        assert ((leaf >= 0) & (leaf < tree.node_count)).all()
        assert (tree.children_left[leaf] < 0).all()
        assert np.isfinite(tree.impurity).all()
    assert isinstance(model.export_text(), str)
    assert model.decision_path(rows)[0].shape[0] == 7
    assert (model.feature_importances_ >= 0).all()
    assert np.isfinite(model.feature_importances_).all()
    assert model.pseudo_labels_.view(np.uint8).max(initial=0) <= 1
    assert ((model.unlabeled_score_ >= 0) & (model.unlabeled_score_ <= 1)).all()
    assert model.pseudo_labels_.ndim == 1
    if model.new_class_index_ is not None:
        for stage in ("final", "exploration"):
            score = model.novelty_score(rows, stage)
            assert ((score >= 0) & (score <= 1)).all()
    repr(model)
