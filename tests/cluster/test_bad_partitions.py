"""Partitions that cannot be learned from: what is wrong, where, and what to do."""

import asyncio
import subprocess
import sys

import numpy as np
import pandas as pd
import pytest
from partitions import FORESTS, LOCAL, blobs, fit_parts, partition

import lacforest.dask.fitting as fitting
from lacforest.dask import DaskLACForestClassifier

X, y, U = blobs(60)
OPTIONS = {"theta": 0.5, "rows_per_tree": 60, "random_state": 0}


def fit(parts, **options):
    return fit_parts(DaskLACForestClassifier(3, **(OPTIONS | options)), parts)


def test_other_lengths():
    table, _, weight, place = partition(X, y, U, cuts=[20])[1]
    parts = partition(X, y, U, cuts=[20])
    parts[1] = (table, y[:7], weight, place)
    with pytest.raises(
        ValueError, match="partition 1 of X has 40 rows, but partition 1 of y has 7"
    ):
        fit(parts)


def test_a_column_of_text_in_one_partition():
    frames = [pd.DataFrame(part, columns=list("abcd")) for part in (X[:20], X[20:], U)]
    frames[1]["c"] = "much"
    parts = [
        (frame, labels, None, place)
        for frame, (_, labels, _, place) in zip(frames, partition(X, y, U, cuts=[20]), strict=True)
    ]
    message = r"partition 1 of X has columns that are not numbers: \['c'\]"
    with pytest.raises(ValueError, match=message):
        fit_parts(DaskLACForestClassifier(3, **OPTIONS), parts, list("abcd"))


def test_other_columns_in_one_partition():
    parts = partition(X, y, U)
    parts[1] = (U[:, :3], None, None, parts[1][3])
    with pytest.raises(ValueError, match="partition 0 of X_unlabeled has 3 features, but X has 4"):
        fit(parts)


def test_missing_labels_and_labels_of_two_types():
    labels = y.astype(float)
    labels[40] = np.nan
    with pytest.raises(ValueError, match="partition 1 of X: Input y contains NaN"):
        fit(partition(X, labels, U, cuts=[20]))
    parts = partition(X, y, U, cuts=[20])
    parts[1] = (parts[1][0], y[20:].astype(str), None, parts[1][3])
    with pytest.raises(TypeError, match="labels are text in some partitions of y and numbers in"):
        fit(parts)


def test_no_labels_at_all():
    with pytest.raises(ValueError, match="no partition has a labelled row"):
        fit(partition(X, np.full(len(X), -1), cuts=[20]), unlabeled_label=-1)


def test_weights_that_are_fractions():
    weight = np.ones(len(X))
    weight[30] = 0.5
    with pytest.raises(ValueError, match=r"not whole numbers \(partition 1\): a distributed fit"):
        fit(partition(X, y, U, weight, cuts=[20]))
    with pytest.raises(ValueError, match="class_weight='balanced' gives weights that are fracti"):
        fit(partition(X, y, U), class_weight="balanced")
    with pytest.raises(
        ValueError, match=r"class_weight of 1 is 0\.5: a distributed fit takes whole"
    ):
        fit(partition(X, y, U), class_weight={1: 0.5})
    with pytest.raises(ValueError, match=r"class_weight names labels that are not in y: \[9\]"):
        fit(partition(X, y, U), class_weight={9: 2})
    with pytest.raises(TypeError, match="class_weight must be a dict or None, got 3"):
        fit(partition(X, y, U), class_weight=3)


def test_a_kind_of_rows_or_a_column_that_the_subsample_lacks(monkeypatch):
    monkeypatch.setattr(fitting, "SAMPLED_ROWS", 20)
    with pytest.raises(ValueError, match=r"none of the 20 rows .* is unlabelled: .* too rare in"):
        fit(partition(np.tile(X, (30, 1)), np.tile(y, 30), U[:1]))
    rare = np.tile(X, (30, 1))
    rare[:, 2] = np.nan
    rare[:5, 2] = np.arange(5)
    message = r"column 2 is missing in all of the \d+ rows that bins are found from: drop this"
    with pytest.raises(ValueError, match=message):
        fit(partition(rare, np.tile(y, 30)), max_bins=3)


class Changing:
    """A table that has other values each time it is read."""

    shape = (60, 4)

    def __array__(self, dtype=None, copy=None):
        return np.random.default_rng().normal(size=self.shape)


def test_input_that_is_not_reproducible():
    parts = partition(X, y, U)
    parts[0] = (Changing(), y, None, parts[0][3])
    with pytest.raises(ValueError, match=r"partition 0 of X had other rows when it was computed"):
        fit(parts)


def test_samples_without_rows():
    with pytest.raises(ValueError, match=r"sample of tree \d+ holds no (un)?labelled row: raise r"):
        fit(partition(X, y, U), rows_per_tree=1)


def test_a_class_that_most_samples_miss():
    labels = y.copy()
    labels[0] = 7
    found = fit(partition(X, labels, U, cuts=[5, 20]), rows_per_tree=30)
    assert found.classes_.tolist() == [-1, 0, 1, 2, 7]


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"rows_per_tree": 0}, "rows_per_tree must be at least 1"),
        ({"max_bins": "auto"}, "max_bins must be an integer from 2 to 255 in a distributed fit"),
        ({"max_bins": 300}, "max_bins must be"),
        ({"unlabeled_label": -1}, "unlabelled rows are given twice"),
    ],
)
def test_parameters(options, message):
    with pytest.raises(ValueError, match=message):
        fit(partition(X, y, U), **options)


def test_clients_that_cannot_be_used():
    distributed, da = pytest.importorskip("distributed"), pytest.importorskip("dask.array")
    forest = DaskLACForestClassifier(3, **OPTIONS)
    with pytest.raises(ValueError, match="there is no Dask client: start one"):
        forest.fit(da.from_array(X), da.from_array(y))

    async def fit_asynchronously():
        client = distributed.Client(processes=False, dashboard_address=":0", asynchronous=True)
        async with client:
            forest.set_params(client=client).fit(da.from_array(X), da.from_array(y))

    with pytest.raises(ValueError, match="client is asynchronous"):
        asyncio.run(fit_asynchronously())


def test_arrays_of_other_shapes():
    da = pytest.importorskip("dask.array")
    with pytest.raises(ValueError, match="X must have two dimensions, but it has 1"):
        DaskLACForestClassifier().fit(da.from_array(X[:, 0]), da.from_array(y))
    with pytest.raises(ValueError, match="X_unlabeled must have two dimensions, but it has 3"):
        DaskLACForestClassifier().fit(
            da.from_array(X), da.from_array(y), X_unlabeled=da.from_array(U[:, :, np.newaxis])
        )


def test_tables_in_memory_are_for_local_forests():
    with pytest.raises(
        TypeError, match=r"X must be a dask array or data frame, got ndarray: .* fit"
    ):
        DaskLACForestClassifier().fit(X, y)


@pytest.mark.parametrize("kind", FORESTS)
def test_local_forests_name_the_class_that_takes_collections(kind):
    da = pytest.importorskip("dask.array")
    local = LOCAL[kind]()
    with pytest.raises(
        TypeError, match=rf"X is a dask collection: fit lacforest.dask.{kind.__name__}"
    ):
        local.fit(da.from_array(X), y)
    with pytest.raises(TypeError, match="X_unlabeled is a dask collection"):
        local.fit(X, y, X_unlabeled=da.from_array(U))


def test_importing_the_package_imports_no_dask():
    code = (
        "import sys, lacforest, lacforest.dask; "
        "sys.exit('dask' in sys.modules or 'distributed' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0
