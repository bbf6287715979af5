"""Rows of tables, images and datasets, read batch by batch as tensors."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, Protocol

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.utils.data import Dataset, IterableDataset

_PIXEL_ADVICE = "pass images as (n_images, channels, height, width)"


class Rows(Protocol):
    """Rows that can be taken by number.

    Attributes
    ----------
    shape : tuple of int
        Shape of one row.
    fixed : bool
        Whether a row is the same each time it is taken.
    """

    shape: tuple[int, ...]
    fixed: bool

    def __len__(self) -> int: ...

    def take(self, rows: NDArray[np.intp]) -> Tensor:
        """Some rows in float32, or in float64 for tables of that type; on the user's device."""


class TensorRows:
    """Rows in memory. Bytes of images are divided by 255 when they are taken.

    Parameters
    ----------
    tensor : tensor of shape (n_rows, ...)
        float32; also float64 for tables, and uint8 for images.
    """

    def __init__(self, tensor: Tensor) -> None:
        self._tensor = tensor
        self.fixed = True
        self.shape: tuple[int, ...] = tuple(tensor.shape[1:])

    def __len__(self) -> int:
        return len(self._tensor)

    def take(self, rows: NDArray[np.intp]) -> Tensor:
        """Some rows."""
        return _as_floats(self._tensor[torch.from_numpy(rows).to(self._tensor.device)])


class DatasetRows:
    """Rows of a `torch.utils.data.Dataset`, fetched when they are needed.

    Parameters
    ----------
    dataset : torch.utils.data.Dataset
        Its items are rows, or tuples that begin with one.
    name : str
        Its name in messages.
    """

    def __init__(self, dataset: Any, name: str) -> None:
        if isinstance(dataset, IterableDataset) or not hasattr(dataset, "__len__"):
            raise TypeError(
                f"{name} is a dataset without a length: rows are drawn in random order, so it "
                "must have __len__ and __getitem__"
            )
        self._dataset, self._name = dataset, name
        self.fixed = False
        self.shape: tuple[int, ...] = ()
        if len(dataset):
            self.shape = tuple(self._row(0).shape)

    def __len__(self) -> int:
        return len(self._dataset)

    def _row(self, number: int) -> Tensor:
        item = self._dataset[number]
        value = item[0] if isinstance(item, tuple | list) else item
        try:
            row = torch.as_tensor(value)
        except (TypeError, ValueError, RuntimeError) as error:
            raise TypeError(
                f"row {number} of {self._name} is {type(value).__name__}, which is no tensor: add "
                "a transform to the dataset that makes one"
            ) from error
        return _as_floats(row)

    def take(self, rows: NDArray[np.intp]) -> Tensor:
        """Some rows, checked each time, because a dataset may return different values."""
        found = []
        for number in rows.tolist():
            row = self._row(number)
            if tuple(row.shape) != self.shape:
                raise ValueError(
                    f"row {number} of {self._name} has the shape {tuple(row.shape)}, but row 0 "
                    f"has {self.shape}: all rows need the same shape"
                )
            if not torch.isfinite(row).all():
                raise ValueError(_not_finite(self._name, number, row))
            found.append(row)
        return torch.stack(found)

    def labels(self) -> list[Any]:
        """The second entry of every item."""
        labels = []
        for number in range(len(self)):
            item = self._dataset[number]
            if not isinstance(item, tuple | list) or len(item) < 2:
                raise ValueError(
                    f"y is None and row {number} of {self._name} is no pair of row and label: "
                    "pass y, or a dataset of pairs"
                )
            label = item[1]
            labels.append(label.item() if hasattr(label, "item") else label)
        return labels


class RowSubset:
    """A selection of other rows, without a copy.

    Parameters
    ----------
    rows : Rows
    order : int array
    """

    def __init__(self, rows: Rows, order: NDArray[np.intp]) -> None:
        self._rows, self._order = rows, order
        self.shape = rows.shape
        self.fixed = rows.fixed

    def __len__(self) -> int:
        return len(self._order)

    def take(self, rows: NDArray[np.intp]) -> Tensor:
        """Some rows of the subset."""
        return self._rows.take(self._order[rows])


class StackedRows:
    """Rows of one source above those of another.

    Parameters
    ----------
    first, second : Rows
        Of one shape.
    """

    def __init__(self, first: Rows, second: Rows) -> None:
        self._first, self._second = first, second
        self.shape = first.shape
        self.fixed = first.fixed and second.fixed

    def __len__(self) -> int:
        return len(self._first) + len(self._second)

    def take(self, rows: NDArray[np.intp]) -> Tensor:
        """Some rows of both."""
        is_first = rows < len(self._first)
        if is_first.all():
            return self._first.take(rows)
        of_second = self._second.take(rows[~is_first] - len(self._first))
        if not is_first.any():
            return of_second
        of_first = self._first.take(rows[is_first])
        found = of_first.new_empty((len(rows), *self.shape))
        found[torch.from_numpy(is_first)] = of_first
        found[torch.from_numpy(~is_first)] = of_second.to(of_first)
        return found


def iterate(rows: Rows, batch_size: int) -> Iterator[tuple[NDArray[np.intp], Tensor]]:
    """Numbers and values of rows, in order."""
    for first in range(0, len(rows), batch_size):
        numbers = np.arange(first, min(first + batch_size, len(rows)))
        yield numbers, rows.take(numbers)


def is_dataset(X: Any) -> bool:
    """Whether X is one of torch's datasets."""
    return isinstance(X, Dataset)


def is_table(X: Any) -> bool:
    """Whether scikit-learn should check X: a table, and neither a tensor nor images."""
    if is_dataset(X) or isinstance(X, Tensor):
        return False
    if not isinstance(X, list | tuple):
        n_dimensions = getattr(X, "ndim", 2)
        return not isinstance(n_dimensions, int) or n_dimensions < 3
    try:
        return np.ndim(X) < 3
    except ValueError:
        return True  # rows of different lengths, which scikit-learn rejects


def rows_of(X: Any, name: str) -> Rows:
    """Rows of a tensor, of an array of images or of a dataset.

    Parameters
    ----------
    X : tensor, ndarray or Dataset
    name : str
        Its name in messages.
    """
    if is_dataset(X):
        rows: Rows = DatasetRows(X, name)
        _check_row_shape(rows.shape, len(rows), name)
        return rows
    tensor = _tensor_of(X, name)
    if tensor.dim() == 0 or len(tensor) == 0:
        raise ValueError(f"{name} has no rows")
    _check_row_shape(tuple(tensor.shape[1:]), len(tensor), name)
    if tensor.is_floating_point():
        _check_finite(tensor, name)
    if tensor.dtype != torch.uint8 or tensor.dim() == 2:
        tensor = _as_floats(tensor)
        _check_finite(tensor, name)  # values beyond float32 have become infinite
    return TensorRows(tensor)


def table_rows(table: NDArray[Any]) -> TensorRows:
    """Rows of a table that scikit-learn has checked."""
    return TensorRows(_tensor_of(table, "X"))


def _tensor_of(X: Any, name: str) -> Tensor:
    if isinstance(X, Tensor):
        tensor = X.detach()
    else:
        array = np.asarray(X)
        if array.dtype.kind not in "biuf":
            raise ValueError(f"{name} holds values of type {array.dtype}, which are no pixels")
        # Copied where torch cannot use the array: read-only, reversed, or of another byte order.
        native = np.ascontiguousarray(array, dtype=array.dtype.newbyteorder("="))
        tensor = torch.from_numpy(native if native.flags.writeable else native.copy())
    if tensor.is_complex() or tensor.layout != torch.strided:
        raise ValueError(f"{name} must be a dense tensor of real numbers, got {tensor.dtype}")
    return tensor


def _check_row_shape(shape: tuple[int, ...], n_rows: int, name: str) -> None:
    if n_rows == 0:
        raise ValueError(f"{name} has no rows")
    if len(shape) == 2:
        raise ValueError(
            f"{name} has rows of shape {shape}: {_PIXEL_ADVICE}; a grey image has one channel, "
            f"{name}[:, None]"
        )
    if len(shape) not in (1, 3):
        raise ValueError(
            f"{name} has rows of shape {shape}, which are neither rows of a table nor images: pass "
            f"a table, or {_PIXEL_ADVICE}"
        )
    if 0 in shape:
        raise ValueError(f"{name} has rows of shape {shape}, which hold nothing")


def _check_finite(tensor: Tensor, name: str) -> None:
    flat = tensor.flatten(1)
    bad = ~torch.isfinite(flat.sum(dim=1))
    if bad.any():
        # The sum may overflow although all values are finite.
        for number in torch.nonzero(bad).flatten().tolist():
            if not torch.isfinite(flat[number]).all():
                raise ValueError(_not_finite(name, number, tensor[number]))


def _not_finite(name: str, number: int, row: Tensor) -> str:
    what = "NaN" if torch.isnan(row).any() else "infinity"
    place = tuple(torch.nonzero(~torch.isfinite(row))[0].tolist())
    return (
        f"{name} contains {what}, first in row {number} at {place}: a network cannot take it; "
        "repair or drop such rows"
    )


def _as_floats(tensor: Tensor) -> Tensor:
    """float32; bytes of images are divided by 255, and tables may stay float64."""
    if tensor.dtype == torch.float64 and tensor.dim() <= 2:
        return tensor
    if tensor.dtype == torch.uint8 and tensor.dim() >= 3:
        return tensor.float() / 255.0
    return tensor.float()


def send(rows: Tensor, device: torch.device) -> Tensor:
    """Rows on a device, in float32 where the device has no float64."""
    return (rows.float() if device.type == "mps" else rows).to(device)
