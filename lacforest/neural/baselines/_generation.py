"""The generator of G-OpenMax and OSRCI: an autoencoder with an adversary, trained on known rows."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

from lacforest._input.parameters import check_int
from lacforest.neural._batches import shuffled_chunks
from lacforest.neural._randomness import seed_generators
from lacforest.neural._rows import Rows, send
from lacforest.neural._settings import check_real
from lacforest.neural._training import TrainingError
from lacforest.neural.baselines._adversary_networks import RowGenerator, RowReader, RowScale

# Published constants of OSRCI.
_REAL_WEIGHT = 0.01
_GRADIENT_PENALTY = 10.0
_BETAS = (0.5, 0.999)
# A number beyond any epoch, to seed the generator.
_OF_GENERATOR = 2**32 - 3
_BATCH = 64


@dataclass(frozen=True)
class GeneratorOptions:
    """How to train a generator.

    Attributes
    ----------
    epochs : int
    learning_rate : float
    channels : tuple of int
        Of strided convolutions; tables have one hidden layer instead.
    latent_size : int
    """

    epochs: int
    learning_rate: float
    channels: tuple[int, ...]
    latent_size: int


def check_generator(estimator: Any) -> GeneratorOptions:
    """The options of an estimator, checked."""
    check_int("generator_epochs", estimator.generator_epochs, 1)
    check_real("generator_rate", estimator.generator_rate, 0.0, low_allowed=False)
    check_int("latent_size", estimator.latent_size, 1)
    check_int("n_generated", estimator.n_generated, 1)
    check_int("tuning_epochs", estimator.tuning_epochs, 1)
    check_real("tuning_rate", estimator.tuning_rate, 0.0, low_allowed=False)
    channels = estimator.generator_channels
    if isinstance(channels, str) or not isinstance(channels, Sequence) or not channels:
        raise TypeError(
            f"generator_channels must be a list of numbers of channels, such as (32, 64); got "
            f"{channels!r}"
        )
    for width in channels:
        check_int("a layer of generator_channels", width, 1)
    return GeneratorOptions(
        int(estimator.generator_epochs),
        float(estimator.generator_rate),
        tuple(int(width) for width in channels),
        int(estimator.latent_size),
    )


def on_sphere(codes: Tensor) -> Tensor:
    """Latent codes of length one."""
    return functional.normalize(codes, dim=1)


class RowAutoencoder(nn.Module):
    """Coder, generator and discriminator of rows.

    Parameters
    ----------
    rows : Rows
        What is to be generated.
    options : GeneratorOptions
    """

    def __init__(self, rows: Rows, options: GeneratorOptions) -> None:
        super().__init__()
        self.latent_size = options.latent_size
        self.scale = RowScale(rows)
        self.coder = RowReader(rows.shape, options.latent_size, options.channels)
        self.generator = RowGenerator(options.latent_size, rows.shape, options.channels)
        self.discriminator = RowReader(rows.shape, 1, options.channels, sees_batch=True)

    def encode(self, rows: Tensor) -> Tensor:
        """Latent codes of rows."""
        return on_sphere(self.coder(self.scale.scaled(rows)))

    def decode(self, codes: Tensor) -> Tensor:
        """Rows for latent codes."""
        return self.scale.restored(self.generator(codes))

    def random_codes(self, n_rows: int) -> Tensor:
        """Latent codes, uniform on the sphere."""
        device = next(self.parameters()).device
        return on_sphere(torch.randn(n_rows, self.latent_size, device=device))

    def discriminator_loss(self, scaled: Tensor) -> Tensor:
        """Softplus losses of generated and real rows, and a penalty on the gradient."""
        with torch.no_grad():
            generated = self.generator(self.random_codes(len(scaled)))
        loss = functional.softplus(self.discriminator(generated)).mean()
        loss = loss + _REAL_WEIGHT * functional.softplus(-self.discriminator(scaled)).mean()
        shape = (len(scaled), *([1] * (scaled.dim() - 1)))
        share = torch.rand(shape, device=scaled.device)
        between = (share * scaled + (1.0 - share) * generated).requires_grad_()
        outputs = self.discriminator(between).sum()
        (gradient,) = torch.autograd.grad(outputs, between, create_graph=True)
        lengths = gradient.flatten(1).norm(dim=1)
        penalty: Tensor = ((lengths - 1.0) ** 2).mean()
        return loss + _GRADIENT_PENALTY * penalty

    def generator_loss(self, scaled: Tensor) -> Tensor:
        """Reconstruction error, and a low output of the discriminator for reconstructed rows."""
        rebuilt = self.generator(on_sphere(self.coder(scaled)))
        error: Tensor = (rebuilt - scaled).abs().mean()
        realism: Tensor = self.discriminator(rebuilt).mean()
        return error - _REAL_WEIGHT * realism


def train_generator(
    rows: Rows, options: GeneratorOptions, entropy: list[int], device: torch.device
) -> RowAutoencoder:
    """An autoencoder with an adversary for known rows, in evaluation mode.

    Parameters
    ----------
    rows : Rows
    options : GeneratorOptions
    entropy : list of int
    device : torch.device
    """
    seed = [*entropy, _OF_GENERATOR]
    seed_generators(device, seed)
    networks = RowAutoencoder(rows, options).to(device)
    of_discriminator = torch.optim.Adam(
        networks.discriminator.parameters(), lr=options.learning_rate, betas=_BETAS
    )
    of_others = torch.optim.Adam(
        [*networks.coder.parameters(), *networks.generator.parameters()],
        lr=options.learning_rate,
        betas=_BETAS,
    )
    chunks = shuffled_chunks(len(rows), _BATCH, np.random.default_rng(seed))
    networks.train()
    for step in range(options.epochs * -(-len(rows) // _BATCH)):
        scaled = networks.scale.scaled(send(rows.take(next(chunks)), device))
        for optimizer, find_loss in (
            (of_discriminator, networks.discriminator_loss),
            (of_others, networks.generator_loss),
        ):
            loss = find_loss(scaled)
            if not torch.isfinite(loss):
                raise TrainingError(
                    f"the loss of the generator became {loss.item():g} in step {step + 1}: lower "
                    f"generator_rate={options.learning_rate:g}"
                )
            optimizer.zero_grad(set_to_none=True)
            loss.backward()
            optimizer.step()
    return networks.eval()


def latent_batches(
    networks: RowAutoencoder, rows: Rows, rng: np.random.Generator, device: torch.device
) -> Iterator[Tensor]:
    """Endless latent codes of random rows."""
    for numbers in shuffled_chunks(len(rows), _BATCH, rng):
        with torch.no_grad():
            codes = networks.encode(send(rows.take(numbers), device))
        yield codes  # outside of no_grad, which would hold for the caller too
