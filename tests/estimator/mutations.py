"""Randomly mutated model files, and checks that a loaded model works.

Checksums detect nearly all random changes, so most mutants have corrected checksums and reach the
code behind the check. A mutant depends only on its seed, so that failures can be reproduced.
"""

import copy
import json
import zlib
from dataclasses import dataclass

import numpy as np
from container_files import lay_out, put_together, take_apart
from mutating import change_array, change_value, damage, pick
from two_blobs import U, X, fitted_forest, small_forest, y

from lacforest import LACExtraTreesClassifier, LACForestClassifier
from lacforest._model.container import MAGIC, ModelFileError
from lacforest._model.forest_files import save_forest
from lacforest.tabular import TabularModel

KINDS = (LACForestClassifier, LACExtraTreesClassifier)


@dataclass(frozen=True)
class Seed:
    """An intact file, whole and taken apart."""

    content: bytes
    header: dict
    arrays: dict


def seeds(folder):
    """One intact file of every kind: labels, names, weights, attachments, deflated or not.

    The extra trees have two forests in a file; one of them is adapted to a batch.
    """
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
        LACExtraTreesClassifier(n_estimators=2, max_depth=2, theta=0.5, random_state=0).fit(
            X, y, X_unlabeled=U
        ),
        fitted_forest(n_estimators=2, max_depth=2).adapt(U[30:]),
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
            made.append(Seed(path.read_bytes(), *take_apart(path)))
    return made


# ---------------------------------------------------------------------------- mutations


def write_mutant(path, seed_files, *seed):
    """Write the mutant of a seed to `path`."""
    rng = np.random.default_rng(seed)
    origin = pick(rng, seed_files)
    kind = rng.random()
    if kind < 0.15:  # checksums as they were
        path.write_bytes(damage(rng, origin.content))
        return
    header, arrays = copy.deepcopy(origin.header), copy.deepcopy(origin.arrays)
    if kind < 0.3:  # the text of a header, byte by byte
        payload = lay_out(header, arrays, bool(rng.integers(2)))
        put_together(path, damage(rng, json.dumps(header).encode()), payload)
        return
    if kind > 0.55:
        for _ in range(int(rng.integers(1, 4))):
            change_array(rng, arrays)
    payload = lay_out(header, arrays, bool(rng.integers(2)))
    if kind < 0.6:
        for _ in range(int(rng.integers(1, 4))):
            change_value(rng, header)
    put_together(path, header, payload)
    if kind > 0.97:  # sizes at the start of the file, with a corrected header checksum
        content = bytearray(path.read_bytes())
        content[len(MAGIC) + int(rng.integers(8))] = int(rng.integers(256))
        length = min(int.from_bytes(content[8:16], "little"), len(content))
        content[16 + length : 20 + length] = zlib.crc32(content[16 : 16 + length]).to_bytes(
            4, "little"
        )
        path.write_bytes(bytes(content))


# ---------------------------------------------------------------------------- verdict


def load_or_refusal(load, path):
    """Return the model, or the message of the only error that `load` may raise."""
    try:
        return load(path), ""
    except ModelFileError as error:
        return None, str(error)


def is_refused(path):
    """Whether `load` rejects the file and names it; otherwise check that the model works."""
    outcomes = [load_or_refusal(kind.load, path) for kind in KINDS]
    loaded = [model for model, _ in outcomes if model is not None]
    table_model, table_message = load_or_refusal(TabularModel.load, path)
    if table_model is not None:
        assert_takes_tables(table_model)
    else:
        assert str(path) in table_message
    if not loaded:
        assert all(str(path) in message for _, message in outcomes)
        return True
    (model,) = loaded
    assert_works(model)
    again = path.with_name("again.lac")
    model.save(again)
    rows = _rows_for(model)
    assert np.array_equal(type(model).load(again).predict_proba(rows), model.predict_proba(rows))
    return False


def _rows_for(model):
    rows = np.random.default_rng(0).normal(size=(7, model.n_features_in_))
    rows[2, 0], rows[3] = np.nan, 1e300
    if not hasattr(model, "feature_names_in_"):
        return rows
    import pandas as pd

    return pd.DataFrame(rows, columns=model.feature_names_in_)


def assert_takes_tables(model):
    """Check that a tabular model predicts a row with its own columns."""
    import pandas as pd

    cells = {"number": 1.5, "boolean": True, "text": "p"}
    frame = pd.DataFrame({name: [cells[kind]] for name, kind in model.coder.kinds.items()})
    assert len(model.predict(frame)) == 1


def assert_works(model):
    """Check that everything that reads a fitted forest runs and returns valid numbers."""
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
