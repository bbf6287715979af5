"""Damaged and malicious model files are rejected with an error that names the file."""

import zlib

import numpy as np
import pytest
from container_files import lay_out, put_together, read_header, rewrite, take_apart
from model_files import assert_not_loaded, small_model
from numpy.testing import assert_array_equal
from two_blobs import U

from lacforest import LACForestClassifier
from lacforest._model.container import MAGIC, ModelFileError

EXPECTED = small_model().predict_proba(U)


# ---------------------------------------------------------------------------- intact


@pytest.mark.parametrize("deflated", [False, True])
def test_a_file_written_from_the_description_is_read(path, deflated):
    rewrite(path, deflated=deflated)
    assert_array_equal(LACForestClassifier.load(path).predict_proba(U), EXPECTED)


# ---------------------------------------------------------------------------- random damage


@pytest.mark.parametrize("compress", [False, True])
def test_files_that_were_cut_off(path, compress):
    small_model().save(path, compress=compress)
    content = path.read_bytes()
    lengths = {*range(0, 40), *range(40, len(content), 41), len(content) - 1, len(content) - 64}
    for length in sorted(lengths):
        path.write_bytes(content[:length])
        assert_not_loaded(path)


def test_files_that_were_added_to(path):
    path.write_bytes(path.read_bytes() + bytes(64))
    assert_not_loaded(path, "cut off or added to")


def damaged_contents(content, n_flips, within, seed):
    rng = np.random.default_rng(seed)
    for _ in range(n_flips):
        damaged = bytearray(content)
        damaged[rng.integers(*within)] ^= 1 << int(rng.integers(8))
        yield bytes(damaged)


def assert_refused_or_harmless(path):
    """Assert that a damaged file is rejected, or that only padding was damaged."""
    try:
        loaded = LACForestClassifier.load(path)
    except ModelFileError:
        assert_not_loaded(path)  # checks the message
        return
    intact = small_model()
    assert_array_equal(loaded.predict_proba(U), EXPECTED)
    assert_array_equal(loaded.predict(U), intact.predict(U))
    for stage in ("final", "exploration"):
        assert_array_equal(loaded.novelty_score(U, stage), intact.novelty_score(U, stage))
    assert_array_equal(loaded.pseudo_labels_, intact.pseudo_labels_)
    assert loaded.get_params() == intact.get_params()


@pytest.mark.parametrize("compress", [False, True])
def test_flipped_bits_in_arrays(path, compress):
    small_model().save(path, compress=compress)
    content = path.read_bytes()
    start = int.from_bytes(content[8:16], "little") + 16
    for damaged in damaged_contents(content, 400, (start, len(content)), seed=1):
        path.write_bytes(damaged)
        assert_refused_or_harmless(path)


def test_flipped_bits_in_the_header(path):
    # Damage to a digit of theta or to a label leaves valid JSON and must be detected too.
    content = path.read_bytes()
    end = int.from_bytes(content[8:16], "little") + 16
    for damaged in damaged_contents(content, 400, (0, end), seed=2):
        path.write_bytes(damaged)
        assert_refused_or_harmless(path)


def test_a_flip_in_every_byte_of_deflated_arrays(path):
    # zlib may detect damage at once, at the end, or never; the CRC detects the rest.
    small_model().save(path)
    content, (header, start) = path.read_bytes(), read_header(path)
    for entry in header["arrays"].values():
        first = start + entry["offset"]
        for position in range(first, first + entry["stored"]):
            damaged = bytearray(content)
            damaged[position] ^= 1
            path.write_bytes(bytes(damaged))
            assert_refused_or_harmless(path)


# ---------------------------------------------------------------------------- the first bytes


@pytest.mark.parametrize(
    "content",
    [b"", b"L", MAGIC[:-1], b"PK\x03\x04" + bytes(100), b"\x80\x04\x95" + bytes(100), bytes(1000)],
    ids=["empty", "one byte", "cut magic", "zip", "pickle", "zeros"],
)
def test_files_of_another_kind(path, content):
    path.write_bytes(content)
    assert_not_loaded(path, "not a lacforest model file")


def test_another_magic(path):
    content = path.read_bytes()
    path.write_bytes(b"LACFRST\r" + content[8:])
    assert_not_loaded(path, "not a lacforest model file")


@pytest.mark.parametrize("length", [2**64 - 1, 2**40, (1 << 26) + 1])
def test_a_header_that_claims_to_be_huge(path, length):
    content = path.read_bytes()
    path.write_bytes(content[:8] + length.to_bytes(8, "little") + content[16:])
    assert_not_loaded(path, f"header claims {length} bytes")


def test_a_header_that_claims_more_than_the_file(path):
    content = path.read_bytes()
    path.write_bytes(content[:8] + (1 << 26).to_bytes(8, "little") + content[16:])
    assert_not_loaded(path, "ends within its header")


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"null",
        b"[]",
        b"3",
        b'"header"',
        b"{}",
        b"\xff\xfe\x00",
        b"[" * 100_000,
        b'{"version": 1e999}',
        b'{"version": ' + b"9" * 5000 + b"}",
        b'{"version": "1"}',
    ],
    ids=lambda text: text[:16].decode("latin-1"),
)
def test_headers_that_are_no_headers(path, text):
    put_together(path, text, b"")
    assert_not_loaded(path)


# ---------------------------------------------------------------------------- crafted sizes


def set_entry(array, **facts):
    return lambda header: header["arrays"][array].update(facts)


BAD_PLACES = {
    "huge shape": set_entry("nodes", shape=[2**47]),
    "huge product": set_entry("leaf_values", shape=[2**40, 2**40]),
    "shape beyond numpy": set_entry("nodes", shape=[2**70]),
    "negative shape": set_entry("nodes", shape=[-1]),
    "shape of a fraction": set_entry("nodes", shape=[1.5]),
    "shape of text": set_entry("nodes", shape="13"),
    "no shape": set_entry("nodes", shape=[]),
    "three dimensions": set_entry("leaf_values", shape=[1, 1, 1]),
    "one row too many": lambda header: header["arrays"]["nodes"]["shape"].__setitem__(0, 10_000),
    "negative offset": set_entry("nodes", offset=-64),
    "offset beyond the end": set_entry("nodes", offset=2**40),
    "offset between arrays": set_entry("nodes", offset=8),
    "offset of text": set_entry("nodes", offset="0"),
    "negative length": set_entry("nodes", stored=-1),
    "length beyond the end": set_entry("nodes", stored=2**40),
    "length of none": set_entry("nodes", stored=None),
    "other checksum": set_entry("nodes", crc32=1),
    "checksum of text": set_entry("nodes", crc32="1"),
    "unknown type": set_entry("nodes", dtype="float16"),
    "object type": set_entry("nodes", dtype="O"),
    "type of a list": set_entry("nodes", dtype=["float32"]),
    "type of other nodes": set_entry("nodes", dtype="int32"),
    "no place": lambda header: header["arrays"].update(nodes=None),
    "a missing array": lambda header: header["arrays"].pop("n_explored"),
    "one array too many": lambda header: header["arrays"].update(x=header["arrays"]["n_explored"]),
    "no arrays": lambda header: header.update(arrays={}),
    "arrays in a list": lambda header: header.update(arrays=[]),
    "arrays in a list of numbers": lambda header: header.update(arrays=[7]),
    "arrays in text": lambda header: header.update(arrays="nodes"),
    "negative size": lambda header: header.update(n_bytes=-1),
    "size of text": lambda header: header.update(n_bytes="0"),
    "smaller size": lambda header: header.update(n_bytes=header["n_bytes"] - 64),
    "deflated or not": lambda header: header.update(deflated="no"),
    "wrongly deflated": lambda header: header.update(deflated=True),
}


@pytest.mark.parametrize("kind", BAD_PLACES)
def test_places_of_arrays_that_make_no_sense(path, kind):
    rewrite(path, change_header=BAD_PLACES[kind])
    assert_not_loaded(path)


def deflated_bomb(path, claimed, written):
    """A file whose array claims some bytes and inflates to others."""
    header, arrays = take_apart(path)
    payload = lay_out(header, arrays, deflated=True)
    stored = zlib.compress(bytes(written), 9)
    header["arrays"]["unlabeled_score_"] |= {
        "shape": [claimed // 8],
        "offset": len(payload),
        "stored": len(stored),
        "crc32": zlib.crc32(bytes(min(claimed, written))),
    }
    payload += stored + bytes(-len(stored) % 64)
    header["n_bytes"] = len(payload)
    put_together(path, header, payload)


def test_a_claim_that_deflate_cannot_fulfil(path):
    # The size is rejected before memory is allocated: a kilobyte must not request a terabyte.
    deflated_bomb(path, claimed=2**40, written=2**20)
    assert_not_loaded(path, "arrays claim 1099511.* bytes, which is too much")


@pytest.mark.parametrize("difference", [-8, 8])
def test_a_claim_that_is_slightly_wrong(path, difference):
    deflated_bomb(path, claimed=2**20, written=2**20 + difference)
    assert_not_loaded(path, "unlabeled_score_")


@pytest.fixture
def no_inflation(monkeypatch):
    """Fail if a single array is inflated."""

    def inflate(*_):
        raise AssertionError("an array was inflated")

    monkeypatch.setattr("lacforest._model.container._inflate", inflate)


def repeat_one_stream(path, names):
    """Add arrays that all name one deflated stream, which inflates to 64 MB."""
    header, arrays = take_apart(path)
    payload = lay_out(header, arrays, deflated=True)
    zeros = bytes(1 << 26)
    stored = zlib.compress(zeros, 9)
    entry = {
        "dtype": "float64",
        "shape": [len(zeros) // 8],
        "offset": len(payload),
        "stored": len(stored),
        "crc32": zlib.crc32(zeros),
    }
    header["arrays"] |= dict.fromkeys(names, entry)
    payload += stored + bytes(-len(stored) % 64)
    header["n_bytes"] = len(payload)
    put_together(path, header, payload)


@pytest.mark.usefixtures("no_inflation")
def test_a_stream_that_thirty_arrays_share_is_not_inflated(path):
    repeat_one_stream(path, [f"bomb {number}" for number in range(30)])
    assert_not_loaded(path, "two arrays share bytes of the file")


@pytest.mark.usefixtures("no_inflation")
def test_arrays_are_not_inflated_before_their_names_are_checked(path):
    rewrite(path, lambda arrays: arrays.update(bomb=np.zeros(1000)), deflated=True)
    assert_not_loaded(path, "it holds the arrays .*bomb")


@pytest.mark.usefixtures("no_inflation")
@pytest.mark.parametrize("name", ["pseudo_labels_", "leaf_values", "feature_importances_"])
def test_arrays_are_not_inflated_before_their_shapes_are_checked(path, name):
    def widen(arrays):
        array = arrays[name]
        arrays[name] = np.zeros((*array.shape[:-1], array.shape[-1] + 1), array.dtype)

    rewrite(path, widen, deflated=True)
    assert_not_loaded(path, "entries in a dimension where")


@pytest.mark.usefixtures("no_inflation")
def test_arrays_must_not_inflate_by_a_large_factor(path):
    rewrite(
        path,
        lambda arrays: arrays.update(
            pseudo_labels_=np.zeros(10**7, bool), unlabeled_score_=np.zeros(10**7)
        ),
        deflated=True,
    )
    assert_not_loaded(path, "arrays claim .* bytes, which is too much for a file of its size")


def test_repetitive_arrays_are_saved_so_that_they_can_be_loaded(path, monkeypatch):
    monkeypatch.setattr("lacforest._model.container._FREE_INFLATION", 1 << 12)
    model = small_model()
    rows = 10**6
    model.pseudo_labels_, model.unlabeled_score_ = np.zeros(rows, bool), np.zeros(rows)
    model.save(path, compress=True)
    assert not read_header(path)[0]["deflated"]
    assert_array_equal(LACForestClassifier.load(path).unlabeled_score_, np.zeros(rows))
