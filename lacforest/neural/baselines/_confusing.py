"""Confusing samples of ARPL+CS: generated rows that no known class claims."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional

from lacforest.neural._checkpoint import flatten_optimizer, restore_optimizer
from lacforest.neural._objective import Batch
from lacforest.neural._rows import Rows
from lacforest.neural.baselines._adversary_networks import RowGenerator, RowReader, RowScale

_LATENT_SIZE = 100
_WIDTHS = (32, 64)
_RATE, _BETAS = 2e-4, (0.5, 0.999)


@contextmanager
def frozen_statistics(module: nn.Module) -> Iterator[None]:
    """Batch normalisation by the batch, without an effect on running statistics."""
    layers = [
        layer for layer in module.modules() if isinstance(layer, nn.modules.batchnorm._BatchNorm)
    ]
    before = [(layer.momentum, layer.num_batches_tracked) for layer in layers]
    for layer in layers:
        layer.momentum = 0.0
        layer.num_batches_tracked = None  # not counted
    try:
        yield
    finally:
        for layer, (momentum, count) in zip(layers, before, strict=True):
            layer.momentum, layer.num_batches_tracked = momentum, count


class ConfusingSamples:
    """A generator and a discriminator that are trained beside the network, by steps of their own.

    Parameters
    ----------
    rows : Rows
        What generated rows should look like.
    weight : float
        Of the indecision, in the losses of the network and of the generator.
    device : torch.device
    """

    def __init__(self, rows: Rows, weight: float, device: torch.device) -> None:
        self.weight = weight
        self._scale = RowScale(rows).to(device)
        self._generator = RowGenerator(_LATENT_SIZE, rows.shape, _WIDTHS).to(device)
        self._discriminator = RowReader(rows.shape, 1, _WIDTHS).to(device)
        self._optimizers = [
            torch.optim.Adam(network.parameters(), lr=_RATE, betas=_BETAS)
            for network in (self._generator, self._discriminator)
        ]
        self._step: tuple[Any, Batch] | None = None

    def _generate(self, n_rows: int, device: torch.device) -> Tensor:
        codes: Tensor = self._generator(torch.randn(n_rows, _LATENT_SIZE, device=device))
        return codes

    def _indecision(self, module: Any, scaled: Tensor) -> Tensor:
        """Exponential of the mean negative entropy of classes: lowest if undecided."""
        with frozen_statistics(module):
            features = module.features(self._scale.restored(scaled))
        logits = module.head.squared_distances(features)
        logarithms = functional.log_softmax(logits, dim=1)
        return (logarithms.exp() * logarithms).sum(dim=1).mean().exp()

    def confusion(self, module: Any, batch: Batch) -> Tensor:
        """Indecision of the network about generated rows, as a loss of the network."""
        self._step = (module, batch)
        with torch.no_grad():
            scaled = self._generate(len(batch.codes), batch.rows.device)
        return self._indecision(module, scaled)

    def step(self) -> None:
        """Train the discriminator, then the generator, on the last batch."""
        if self._step is None:
            return
        module, batch = self._step
        self._step = None
        real = self._scale.scaled(batch.rows[: len(batch.codes)])
        of_generator, of_discriminator = self._optimizers
        generated = self._generate(len(real), real.device)
        loss = functional.softplus(-self._discriminator(real)).mean()
        loss = loss + functional.softplus(self._discriminator(generated.detach())).mean()
        of_discriminator.zero_grad(set_to_none=True)
        loss.backward()
        of_discriminator.step()
        loss = functional.softplus(-self._discriminator(generated)).mean()
        loss = loss + self.weight * self._indecision(module, generated)
        of_generator.zero_grad(set_to_none=True)
        loss.backward()
        of_generator.step()

    def samples(self, n_rows: int) -> Tensor:
        """Generated rows, in the units of the rows."""
        device = next(self._generator.parameters()).device
        with torch.no_grad():
            return self._scale.restored(self._generate(n_rows, device)).cpu()

    def tensors(self) -> dict[str, Tensor]:
        """Weights and state of the optimisers, for checkpoints."""
        found: dict[str, Tensor] = {}
        networks = (self._generator, self._discriminator)
        for number, (network, optimizer) in enumerate(zip(networks, self._optimizers, strict=True)):
            for name, value in network.state_dict().items():
                found[f"{number}.weights.{name}"] = value
            for name, value in flatten_optimizer(optimizer)[0].items():
                found[f"{number}.optimizer.{name}"] = value
        return found

    def load(self, tensors: dict[str, Tensor]) -> None:
        """Restore what `tensors` returned."""
        parts: dict[tuple[str, str], dict[str, Tensor]] = {}
        for key, value in tensors.items():
            place, kind, name = key.split(".", 2)
            parts.setdefault((place, kind), {})[name] = value
        networks = (self._generator, self._discriminator)
        for number, (network, optimizer) in enumerate(zip(networks, self._optimizers, strict=True)):
            network.load_state_dict(parts[str(number), "weights"])
            restore_optimizer(optimizer, parts.get((str(number), "optimizer"), {}), {})
