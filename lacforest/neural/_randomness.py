"""Random numbers of a fit, independent of the state of torch's global generators."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager

import numpy as np
import torch


@contextmanager
def private_generators(device: torch.device) -> Iterator[None]:
    """Restore torch's global generators at the end of the block.

    Initialisation and dropout can only draw from the global generators.
    """
    of_mps = torch.mps.get_rng_state() if device.type == "mps" else None
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        try:
            yield
        finally:
            if of_mps is not None:
                torch.mps.set_rng_state(of_mps)


def seed_generators(device: torch.device, entropy: Sequence[int]) -> None:
    """Seed the generators of the CPU and of the device; those of other devices stay as they are."""
    seed = int(np.random.SeedSequence(entropy).generate_state(1, np.uint64)[0] >> 1)
    torch.default_generator.manual_seed(seed)
    if device.type == "cuda":
        with torch.cuda.device(device):
            torch.cuda.manual_seed(seed)
    elif device.type == "mps":
        torch.mps.manual_seed(seed)
