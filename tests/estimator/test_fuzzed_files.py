"""A share of what tools/fuzz_model_files.py tries: mutants are refused cleanly, or work."""

import pytest
from mutations import is_refused, seeds, write_mutant

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
    # Both ends are reached: mutants that break something, and mutants that do not.
    assert 0.5 < sum(refused) / len(refused) < 0.99
