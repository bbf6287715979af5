"""A sample of tools/fuzz_model_files.py: mutants are rejected cleanly or work."""

import pytest
from container_files import rewrite
from mutations import is_refused, write_mutant
from seed_files import seeds
from two_blobs import fitted_forest

N_MUTANTS = 1500


@pytest.fixture(scope="module")
def seed_files(tmp_path_factory):
    return seeds(tmp_path_factory.mktemp("seeds"))


def test_intact_files_work(tmp_path, seed_files):
    for seed in seed_files:
        (tmp_path / "intact.lac").write_bytes(seed.content)
        assert not is_refused(tmp_path / "intact.lac")


@pytest.mark.parametrize("part", range(5))
def test_mutants(tmp_path, seed_files, global_random_seed, part):
    path = tmp_path / "mutant.lac"
    refused = []
    for number in range(part, N_MUTANTS, 5):
        write_mutant(path, seed_files, global_random_seed, number)
        refused.append(is_refused(path))
    # Both outcomes occur: mutants that are rejected, and mutants that load.
    assert 0.5 < sum(refused) / len(refused) < 0.99


def test_a_leaf_whose_number_of_rows_cannot_be_squared(tmp_path):
    # A weight of 1e-274 is allowed; its square is zero, and impurities were 0 / 0.
    path = tmp_path / "mutant.lac"
    fitted_forest(n_estimators=2, max_depth=3).save(path, compress=False)

    def shrink(arrays):
        left = arrays["nodes"]["left"]
        assert (left < -3).any()  # leaves of more than one class
        arrays["nodes"]["threshold"][left < -3] = 2.8e-274

    rewrite(path, shrink)
    assert not is_refused(path)
