import numpy as np
import pytest
from numpy.testing import assert_array_equal

from lacforest._tree.keys import sorted_keys

# Sizes on both sides of each switch: rank sort up to 32 keys, radix digits of 6 to 11 bits above.
SIZES = [0, 1, 2, 3, 31, 32, 33, 63, 64, 65, 127, 129, 500, 1024, 1025, 2047, 2049, 5000]


def random_keys(rng, size, dtype, shift, bits):
    """Keys as the search builds them: `bits` bits to sort by above `shift` bits of payload."""
    fields = rng.integers(0, 2**bits, size, dtype=np.uint64)
    company = rng.integers(0, 2**shift, size, dtype=np.uint64)
    return ((fields << np.uint64(shift)) | company).astype(dtype)


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize(
    ("dtype", "shift", "bits"),
    [
        (np.uint32, 0, 1),
        (np.uint32, 1, 5),
        (np.uint32, 2, 8),
        (np.uint32, 3, 11),
        (np.uint32, 4, 12),
        (np.uint32, 2, 22),
        (np.uint32, 5, 26),
        (np.uint32, 16, 15),
        (np.uint64, 0, 9),
        (np.uint64, 32, 1),
        (np.uint64, 32, 12),
        (np.uint64, 32, 23),
        (np.uint64, 32, 32),
    ],
)
def test_order_is_that_of_numpy(size, dtype, shift, bits, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    keys = random_keys(rng, size, dtype, shift, bits)
    before = keys.copy()
    ordered = sorted_keys(keys, shift, bits)
    assert ordered.dtype == dtype
    assert_array_equal(keys, before)
    assert_array_equal(ordered >> dtype(shift), np.sort(keys >> dtype(shift)))
    assert_array_equal(np.sort(ordered), np.sort(keys))  # every key is still there


@pytest.mark.parametrize("dtype", [np.uint32, np.uint64])
@pytest.mark.parametrize("size", [5, 50, 3000])
def test_few_distinct_codes(size, dtype, global_random_seed):
    rng = np.random.default_rng(global_random_seed)
    codes = rng.choice([0, 7, 8, 1023], size)
    classes = rng.integers(0, 4, size)
    keys = ((codes << 2) | classes).astype(dtype)
    assert_array_equal(sorted_keys(keys, 2, 10) >> dtype(2), np.sort(codes))


@pytest.mark.parametrize("size", [5, 50])
def test_nothing_to_sort_by(size):
    # All present values are equal; only missing values differ from them.
    keys = np.arange(size, dtype=np.uint32) % 4
    assert_array_equal(np.sort(sorted_keys(keys, 2, 0)), np.sort(keys))


def test_other_types_are_refused():
    with pytest.raises(TypeError, match="keys must be uint32 or uint64, got int64"):
        sorted_keys(np.arange(3), 0, 2)
