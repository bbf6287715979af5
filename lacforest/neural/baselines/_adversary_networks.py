"""Networks that code, generate and tell apart rows, for images of any size and for tables."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor, nn

from lacforest.neural._rows import Rows, iterate

_TABLE_HIDDEN = 64
_SLOPE = 0.2


class RowScale(nn.Module):
    """Rows to a common scale and back: images to [0, 1], columns to mean 0 and deviation 1.

    Parameters
    ----------
    rows : Rows
    """

    offset: Tensor
    span: Tensor

    def __init__(self, rows: Rows) -> None:
        super().__init__()
        self.is_table = len(rows.shape) == 1
        values = torch.cat([batch.cpu().float() for _, batch in iterate(rows, 4096)])
        if self.is_table:
            offset, span = values.mean(dim=0), values.std(dim=0, correction=0)
        else:
            offset, span = values.min(), values.max() - values.min()
        self.register_buffer("offset", offset)
        self.register_buffer("span", torch.where(span > 0, span, 1.0))

    def scaled(self, rows: Tensor) -> Tensor:
        """Rows on the common scale."""
        return (rows.float() - self.offset) / self.span

    def restored(self, scaled: Tensor) -> Tensor:
        """Rows as they are given."""
        return scaled * self.span + self.offset


def _strided(channels: int, widths: Sequence[int]) -> nn.Sequential:
    layers: list[nn.Module] = []
    before = channels
    for after in widths:
        layers += [nn.Conv2d(before, after, 4, stride=2, padding=1), nn.LeakyReLU(_SLOPE)]
        before = after
    return nn.Sequential(*layers, nn.Flatten())


def _reduced(side: int, n_layers: int) -> int:
    for _ in range(n_layers):
        side //= 2
    return side


class RowReader(nn.Module):
    """Network from a row to a vector: a latent code, or one output for real or generated.

    Parameters
    ----------
    shape : tuple of int
        Of a row.
    n_outputs : int
    widths : sequence of int
        Channels of strided convolutions; tables have one hidden layer instead.
    sees_batch : bool, default=False
        Let the output also depend on means over the batch, by which a discriminator notices
        generated rows that are all alike.
    """

    def __init__(
        self,
        shape: tuple[int, ...],
        n_outputs: int,
        widths: Sequence[int],
        sees_batch: bool = False,
    ) -> None:
        super().__init__()
        self.sees_batch = sees_batch
        if len(shape) == 1:
            self.layers = nn.Sequential(nn.Linear(shape[0], _TABLE_HIDDEN), nn.LeakyReLU(_SLOPE))
            n_features = _TABLE_HIDDEN
        else:
            channels, height, width = shape
            self.layers = _strided(channels, widths)
            n_layers = len(widths)
            n_features = widths[-1] * _reduced(height, n_layers) * _reduced(width, n_layers)
            if n_features == 0:
                raise ValueError(
                    f"images of {height} x {width} pixels are too small to be halved "
                    f"{n_layers} times: give fewer generator_channels"
                )
        self.head = nn.Linear(n_features * (2 if sees_batch else 1), n_outputs)

    def forward(self, scaled: Tensor) -> Tensor:
        """Outputs for rows on the common scale."""
        features = self.layers(scaled)
        if self.sees_batch:
            of_batch = torch.exp(-features.mean(dim=0, keepdim=True)).expand_as(features)
            features = torch.cat([features, of_batch], dim=1)
        outputs: Tensor = self.head(features)
        return outputs


class RowGenerator(nn.Module):
    """Network from a latent code to a row on the common scale.

    Parameters
    ----------
    latent_size : int
    shape : tuple of int
    widths : sequence of int
        Channels as in `RowReader`, used in reverse order.
    """

    def __init__(self, latent_size: int, shape: tuple[int, ...], widths: Sequence[int]) -> None:
        super().__init__()
        self.shape = shape
        if len(shape) == 1:
            self.layers = nn.Sequential(
                nn.Linear(latent_size, _TABLE_HIDDEN),
                nn.ReLU(),
                nn.Linear(_TABLE_HIDDEN, shape[0]),
            )
            return
        channels, height, width = shape
        factor = 2 ** len(widths)
        # Rounded up: what is too large is cropped.
        start = (widths[-1], -(-height // factor), -(-width // factor))
        layers: list[nn.Module] = [
            nn.Linear(latent_size, start[0] * start[1] * start[2]),
            nn.Unflatten(1, start),
        ]
        before = widths[-1]
        for after in [*reversed(widths[:-1]), channels]:
            layers += [
                nn.BatchNorm2d(before),
                nn.ReLU(),
                nn.ConvTranspose2d(before, after, 4, stride=2, padding=1),
            ]
            before = after
        self.layers = nn.Sequential(*layers, nn.Sigmoid())

    def forward(self, codes: Tensor) -> Tensor:
        """Rows for latent codes."""
        rows: Tensor = self.layers(codes)
        return rows if rows.dim() == 2 else rows[:, :, : self.shape[1], : self.shape[2]]
