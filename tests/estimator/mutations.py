"""Randomly mutated model files, and checks that a loaded model works.

Checksums detect nearly all random changes, so most mutants have corrected checksums and reach the
code behind the check. A mutant depends only on its seed, so that failures can be reproduced.
"""

import copy
import json
import zlib

import numpy as np
import pandas as pd
from container_files import lay_out, put_together
from mutating import change_array, change_value, damage, pick

from lacforest import LACExtraTreesClassifier, LACForestClassifier
from lacforest._model.container import MAGIC, ModelFileError
from lacforest.tabular import TabularModel

KINDS = (LACForestClassifier, LACExtraTreesClassifier)


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
    names = getattr(model, "feature_names_in_", None)
    if names is None and model._categories is None:
        return rows
    frame = pd.DataFrame(rows, columns=names)
    if model._categories is not None:
        for place, categories in enumerate(model._categories.columns):
            if categories is not None:
                frame.isetitem(place, _cells_of(categories))
    return frame


def _cells_of(categories):
    """Seven cells of a column: known categories, missing ones, and one that no fit has seen."""
    unseen = "unseen" if categories.dtype == object else 2.0**40
    known = [*categories[:3].tolist(), *categories[-2:].tolist()]
    return pd.Series([*known, *[None] * (6 - len(known)), unseen], dtype="category")


def assert_takes_tables(model):
    """Check that a tabular model predicts rows with its own columns, and what was found after it.

    The rows are two: categories that its coding may know, and cells that are missing.
    """
    cells = {"number": 2.0, "boolean": True, "text": "p"}
    frame = pd.DataFrame({name: [cells[kind], None] for name, kind in model.coder.kinds.items()})
    found = model.predict(frame)
    assert len(found) == 2
    numbers = found.drop(columns="predicted_label").to_numpy()
    assert ((numbers >= 0) & (numbers <= 1)).all()
    rows = model.coder.encode(frame)
    if model.calibrator is not None:
        assert_calibrated(model.calibrator, rows)
    if model.groups is not None:
        assert_grouped(model.groups, rows, model.forest)


def assert_calibrated(calibrator, rows):
    """Check that a calibrator judges rows."""
    _, p_values, _ = calibrator.judge(rows)
    for share in (p_values, calibrator.p_value(rows), calibrator.new_probability(rows)):
        assert ((share >= 0) & (share <= 1)).all()
    assert (p_values > 0).all()
    assert calibrator.select(rows, n_rows=1).mask.sum() == 1
    calibrator.select_unlabeled(fdr=0.5)


def assert_grouped(groups, rows, forest):
    """Check that groups take in another batch and describe it."""
    assert groups.is_far(rows).dtype == bool
    assert (groups.predict(rows) < len(groups.group_names_)).all()
    groups.update(np.repeat(rows, 4, axis=0))
    assert all(isinstance(str(group), str) for group in groups.describe())
    if set(groups.group_names_) & set(groups.promoted_):
        following = groups.next_fit(forest)
        assert 0 < following["theta"] < 1


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
