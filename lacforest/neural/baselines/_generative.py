"""What G-OpenMax and OSRCI share: parameters of a generator, and the rows that it made."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from lacforest.neural.baselines._generation import check_generator
from lacforest.neural.baselines._method import ThresholdMethod


def check_generated(generated: NDArray[Any], shape: tuple[int, ...]) -> NDArray[Any]:
    """Generated rows of a file, if they can be rows of this shape."""
    if generated.shape[1:] != shape or not np.isfinite(generated).all():
        raise ValueError(f"generated rows are not finite, or not of shape {shape}")
    return generated


class GenerativeMethod(ThresholdMethod):
    """Base of the methods that train on generated rows."""

    generated_: NDArray[Any]

    def __init__(
        self,
        *,
        generator_epochs: int = 10,
        generator_rate: float = 1e-3,
        generator_channels: Sequence[int] = (32, 64),
        latent_size: int = 64,
        n_generated: int = 3200,
        tuning_epochs: int = 3,
        tuning_rate: float = 1e-3,
        **training: Any,
    ) -> None:
        super().__init__(**training)
        self.generator_epochs = generator_epochs
        self.generator_rate = generator_rate
        self.generator_channels = generator_channels
        self.latent_size = latent_size
        self.n_generated = n_generated
        self.tuning_epochs = tuning_epochs
        self.tuning_rate = tuning_rate

    def _check_parameters(self) -> None:
        check_generator(self)
        super()._check_parameters()

    def _tensors(self) -> dict[str, NDArray[Any]]:
        return super()._tensors() | {"generated": self.generated_}

    def _restore_tensors(self, tensors: dict[str, NDArray[Any]], n_known: int) -> None:
        super()._restore_tensors(tensors, n_known)
        self.generated_ = check_generated(tensors["generated"], self.input_shape_)
