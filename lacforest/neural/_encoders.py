"""Encoders: networks that turn rows into feature vectors for the trees."""

from __future__ import annotations

import copy
from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor, nn

from lacforest._input.parameters import check_int

Shape = tuple[int, ...]
ENCODERS = ("auto", "mlp", "cnn", "vgg16")
# Channels of VGG16's thirteen convolutions; None is a pooling layer.
_VGG16: tuple[int | None, ...] = (
    *(64, 64, None, 128, 128, None, 256, 256, 256, None),
    *(512, 512, 512, None, 512, 512, 512, None),
)
# A deviation below this share of the mean is what summing in float64 leaves of a constant.
_ROUNDING = 1e-12
# Standardised values beyond this say no more than this.
_FAR_OUT = 1e6


class Standardize(nn.Module):
    """Columns to mean zero and deviation one, by statistics that are kept with the weights.

    In float64, because a column may vary in digits that float32 has not: a date in seconds does.

    Parameters
    ----------
    n_features : int
    """

    mean: Tensor
    scale: Tensor

    def __init__(self, n_features: int) -> None:
        super().__init__()
        self.register_buffer("mean", torch.zeros(n_features, dtype=torch.float64))
        self.register_buffer("scale", torch.ones(n_features, dtype=torch.float64))

    def fit(self, batches: Callable[[], Any]) -> None:
        """Take the statistics from rows.

        Parameters
        ----------
        batches : callable
            Gives an iterator over tensors of shape (n_rows, n_features). It is called twice.
        """
        count, total = 0, torch.zeros(len(self.mean), dtype=torch.float64)
        for batch in batches():
            count += len(batch)
            total += batch.cpu().double().sum(dim=0)
        mean = total / count
        squares = torch.zeros_like(mean)
        for batch in batches():
            squares += ((batch.cpu().double() - mean) ** 2).sum(dim=0)
        deviation = (squares / count).sqrt()
        # What is constant but for rounding stays what it is: zero.
        constant = deviation <= _ROUNDING * mean.abs()
        self.mean.copy_(mean)
        self.scale.copy_(torch.where(constant, 1.0, deviation))

    def forward(self, rows: Tensor) -> Tensor:
        """Standardised rows, in float32; outliers are cut off where products might overflow."""
        standard = (rows.to(self.mean.dtype) - self.mean) / self.scale
        return standard.clamp(-_FAR_OUT, _FAR_OUT).float()


class MLPEncoder(nn.Module):
    """Fully connected layers for tables, behind their own standardisation.

    Parameters
    ----------
    n_features : int
    hidden : sequence of int, default=(128, 128)
        Sizes of the layers, each followed by a ReLU.
    batch_norm : bool, default=False
        Normalise each layer over the batch.
    """

    def __init__(
        self, n_features: int, hidden: Sequence[int] = (128, 128), batch_norm: bool = False
    ) -> None:
        super().__init__()
        self.standardize = Standardize(n_features)
        sizes = [n_features, *hidden]
        layers: list[nn.Module] = []
        for before, after in pairwise(sizes):
            layers.append(nn.Linear(before, after, bias=not batch_norm))
            layers += [nn.BatchNorm1d(after)] if batch_norm else []
            layers.append(nn.ReLU())
        self.layers = nn.Sequential(*layers)

    def forward(self, rows: Tensor) -> Tensor:
        """Features of rows."""
        features: Tensor = self.layers(self.standardize(rows))
        return features


def _channels_last(images: Tensor) -> Tensor:
    """The same images in the order of memory that convolutions are fastest in."""
    return images.contiguous(memory_format=torch.channels_last)


def _store_channels_last(layers: nn.Sequential) -> None:
    for layer in layers:
        if isinstance(layer, nn.Conv2d):
            # `contiguous` would leave weights of one input channel as they are, and then the output
            # of the layer, whose order follows the weights, would be channels first.
            layer.weight.data = layer.weight.data.to(memory_format=torch.channels_last)


class CNNEncoder(nn.Module):
    """The three-layer network of the paper for 28 x 28 grey images; other sizes work as well.

    Two convolutions of 3 x 3 with 32 and 64 channels, each with a ReLU and a pooling to half the
    size, then one fully connected layer of 390 features with a ReLU and dropout.

    Parameters
    ----------
    channels, height, width : int, default=1, 28, 28
        Of the images.
    n_outputs : int, default=390
        Features.
    dropout : float, default=0.5
    batch_norm : bool, default=False
        Normalise each layer over the batch.
    """

    def __init__(
        self,
        channels: int = 1,
        height: int = 28,
        width: int = 28,
        n_outputs: int = 390,
        dropout: float = 0.5,
        batch_norm: bool = False,
    ) -> None:
        super().__init__()
        if min(height, width) < 4:
            raise ValueError(
                f"the cnn encoder halves images twice and needs at least 4 x 4 pixels, got "
                f"{height} x {width}: flatten the images and use the mlp encoder"
            )
        layers: list[nn.Module] = []
        for before, after in ((channels, 32), (32, 64)):
            # Pooled first: the maximum of ReLUs is the ReLU of the maximum, on a quarter of the
            # values.
            layers += [
                nn.Conv2d(before, after, 3, padding=1, bias=not batch_norm),
                nn.MaxPool2d(2),
                *([nn.BatchNorm2d(after)] if batch_norm else []),
                nn.ReLU(),
            ]
        n_inputs = 64 * (height // 4) * (width // 4)
        layers += [nn.Flatten(), nn.Linear(n_inputs, n_outputs, bias=not batch_norm)]
        layers += [nn.BatchNorm1d(n_outputs)] if batch_norm else []
        self.layers = nn.Sequential(*layers, nn.ReLU(), nn.Dropout(dropout))
        _store_channels_last(self.layers)

    def forward(self, images: Tensor) -> Tensor:
        """Features of images."""
        features: Tensor = self.layers(_channels_last(images))
        return features


class VGG16Encoder(nn.Module):
    """VGG16 with batch normalisation, for 32 x 32 colour images or larger.

    The thirteen convolutions, an average over what is left of the image, then one fully connected
    layer of 128 features with a ReLU.

    Parameters
    ----------
    channels, height, width : int, default=3, 32, 32
        Of the images.
    n_outputs : int, default=128
        Features.
    """

    def __init__(
        self, channels: int = 3, height: int = 32, width: int = 32, n_outputs: int = 128
    ) -> None:
        super().__init__()
        if min(height, width) < 32:
            raise ValueError(
                "the vgg16 encoder halves images five times and needs at least 32 x 32 pixels, "
                f"got {height} x {width}: use the cnn encoder"
            )
        layers: list[nn.Module] = []
        before = channels
        for after in _VGG16:
            if after is None:
                layers.append(nn.MaxPool2d(2))
            else:
                layers += [
                    nn.Conv2d(before, after, 3, padding=1, bias=False),
                    nn.BatchNorm2d(after),
                    nn.ReLU(),
                ]
                before = after
        self.layers = nn.Sequential(
            *layers, nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(512, n_outputs), nn.ReLU()
        )
        for module in self.layers:
            if isinstance(module, nn.Conv2d):
                nn.init.kaiming_normal_(module.weight, mode="fan_out", nonlinearity="relu")
        _store_channels_last(self.layers)

    def forward(self, images: Tensor) -> Tensor:
        """Features of images."""
        features: Tensor = self.layers(_channels_last(images))
        return features


def check_encoder(encoder: Any, hidden: Any) -> None:
    """Refuse what is no encoder, before any data is looked at."""
    if isinstance(encoder, str):
        if encoder not in ENCODERS:
            raise ValueError(
                f"encoder must be one of {', '.join(ENCODERS)}, a torch.nn.Module, or a function "
                f"from the shape of a row to one; got {encoder!r}"
            )
    elif not callable(encoder):
        raise TypeError(
            f"encoder must be a name, a torch.nn.Module, or a function from the shape of a row to "
            f"one; got {encoder!r}"
        )
    if isinstance(hidden, str) or not isinstance(hidden, Sequence) or not hidden:
        raise TypeError(f"hidden must be a list of layer sizes, such as (128, 128); got {hidden!r}")
    for size in hidden:
        check_int("a layer of hidden", size, 1)


def make_encoder(
    encoder: Any, shape: Shape, hidden: Sequence[int], batch_norm: bool = False
) -> nn.Module:
    """The encoder for rows of a shape. A module is copied, so that the user's own stays as it is.

    Parameters
    ----------
    encoder : str, nn.Module or callable
    shape : tuple of int
        (n_features,) or (channels, height, width).
    hidden : sequence of int
        Layers of the MLP.
    batch_norm : bool, default=False
        Normalise the layers of the named encoders; VGG16 always does.
    """
    if isinstance(encoder, nn.Module):
        return copy.deepcopy(encoder)
    if not isinstance(encoder, str):
        made = encoder(shape)
        if not isinstance(made, nn.Module):
            raise TypeError(
                f"the function given as encoder must return a torch.nn.Module, got {made!r}"
            )
        return made
    if encoder == "auto":
        encoder = "mlp" if len(shape) == 1 else "vgg16" if shape == (3, 32, 32) else "cnn"
    if encoder == "mlp":
        if len(shape) != 1:
            raise ValueError(
                f"the mlp encoder takes tables, but the rows are images of shape {shape}: flatten "
                "them, or use the cnn encoder"
            )
        return MLPEncoder(shape[0], hidden, batch_norm)
    if len(shape) != 3:
        raise ValueError(
            f"the {encoder} encoder takes images of shape (n_images, channels, height, width), but "
            f"rows have the shape {shape}: reshape X, or use the mlp encoder"
        )
    if encoder == "cnn":
        return CNNEncoder(*shape, batch_norm=batch_norm)
    return VGG16Encoder(*shape)


def count_outputs(encoder: nn.Module, rows: Tensor) -> int:
    """Length of the feature vectors that an encoder makes, found by trying it on two rows."""
    training = encoder.training
    encoder.eval()
    try:
        with torch.no_grad():
            features = encoder(rows)
    except Exception as error:
        raise ValueError(
            f"the encoder {type(encoder).__name__} cannot take a batch of shape "
            f"{tuple(rows.shape)}: {error}. Rows have the shape {tuple(rows.shape[1:])}: check the "
            "channels and the size that the encoder was made for."
        ) from error
    finally:
        encoder.train(training)
    if not isinstance(features, Tensor) or not features.is_floating_point():
        raise TypeError(
            f"the encoder {type(encoder).__name__} must return a tensor of floats, got "
            f"{features if not isinstance(features, Tensor) else features.dtype}"
        )
    if features.dim() < 2 or features.shape[0] != rows.shape[0]:
        raise ValueError(
            f"the encoder {type(encoder).__name__} returned the shape {tuple(features.shape)} for "
            f"a batch of {rows.shape[0]} rows: the first dimension must be the batch, and the rest "
            "is flattened to features"
        )
    n_outputs = features[0].numel()
    if n_outputs == 0:
        raise ValueError(f"the encoder {type(encoder).__name__} returned no features")
    return n_outputs
