"""Partitions are computed inside the tasks that read them, where they share nothing."""

import sys

import numpy as np
import pytest
from numpy.testing import assert_array_equal
from partitions import blobs

pytest.importorskip("distributed")
import dask.array as da
import dask.dataframe as dd
import pandas as pd
from dask.sizeof import sizeof
from distributed import Client

from lacforest.dask.collections import list_parts
from lacforest.dask.recipes import Recipe
from lacforest.dask.tasks import CodedPart, TreeRows

X, y, U = blobs(60)


def parts_of(X, y, U=None):
    return list_parts(X, y, U, None, "LACForestClassifier")[0]


def test_arrays_are_read_in_one_task():
    parts = parts_of(da.from_array(X, (25, 4)) + 1.0, da.from_array(y, 25), da.from_array(U, 30))
    assert all(isinstance(part[0], Recipe) for part in parts)
    tables, labels, weights = zip(*(part[0].read() for part in parts), strict=True)
    assert_array_equal(np.concatenate(tables[:3]), X + 1.0)
    assert_array_equal(np.concatenate(labels[:3]), y)
    assert_array_equal(np.concatenate(tables[3:]), U)
    assert labels[3:] == (None, None)
    assert set(weights) == {None}


def test_files_are_read_once_for_rows_and_labels(tmp_path):
    names = list("abcd")
    pd.DataFrame(X, columns=names).assign(y=y).to_parquet(tmp_path / "0.parquet")
    pd.DataFrame(X, columns=names).assign(y=y).to_parquet(tmp_path / "1.parquet")
    frame = dd.read_parquet(tmp_path)
    parts = parts_of(frame[names], frame["y"])
    for recipe, _ in parts:
        assert sum("read" in str(key) for key in recipe.graph) == 1
        table, labels, _ = recipe.read()
        assert_array_equal(table, X)
        assert_array_equal(labels, y)


def test_what_partitions_share_is_computed_once():
    table = da.from_array(X, (25, 4))
    parts = parts_of(table - table.mean(axis=0), da.from_array(y, 25))
    assert not any(isinstance(part[0], Recipe) for part in parts)
    parts = parts_of(table, da.from_array(y, 25), table)  # the same rows twice
    assert not any(isinstance(part[0], Recipe) for part in parts)


def test_what_was_persisted_is_not_computed_again():
    with Client(processes=False, dashboard_address=":0"):
        table = da.from_array(X, (25, 4)).persist()
        for kept in (table, table + 1.0):
            parts = parts_of(kept, da.from_array(y, 25))
            assert not any(isinstance(part[0], Recipe) for part in parts)


def test_dask_sees_the_size_of_coded_rows():
    codes, classes = np.zeros((4, 1000), dtype=np.uint8), np.zeros(1000, dtype=np.uint16)
    part = CodedPart(None, codes, classes, None, codes)
    assert sys.getsizeof(part) >= 10_000
    bundle = [TreeRows(codes, classes, None, codes, None)] * 3
    assert sizeof(bundle) >= 30_000
