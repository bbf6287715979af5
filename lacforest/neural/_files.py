"""Files of tensors with a JSON header, in the safetensors format. No pickle."""

from __future__ import annotations

import json
import os
from typing import Any

import safetensors
from safetensors.torch import save
from torch import Tensor

from lacforest._model.container import ModelFileError
from lacforest._utils.atomic import atomic_file

VERSION = 2
_MARK = "lacforest"


def write_tensors(
    path: str | os.PathLike[str], kind: str, header: dict[str, Any], tensors: dict[str, Tensor]
) -> None:
    """Write a file whole or not at all.

    Parameters
    ----------
    path : path
    kind : str
        The kind of content; a reader asks for it.
    header : dict
        JSON values.
    tensors : dict of tensor
    """
    content = json.dumps({"kind": kind, "version": VERSION, "header": header}, allow_nan=False)
    # Copies, because the format rejects tensors that share memory, as tied weights do.
    own = {name: value.detach().cpu().contiguous().clone() for name, value in tensors.items()}
    encoded = save(own, {_MARK: content})
    with atomic_file(path) as file:
        file.write(encoded)


def read_tensors(
    path: str | os.PathLike[str], kind: str
) -> tuple[dict[str, Any], dict[str, Tensor]]:
    """Header and tensors of a file that `write_tensors` wrote."""
    name = os.fspath(path)
    if not os.path.isfile(name):
        raise FileNotFoundError(f"there is no file {name!r}")
    try:
        with safetensors.safe_open(name, framework="pt") as file:
            content = (file.metadata() or {}).get(_MARK)
            tensors = {key: file.get_tensor(key) for key in file.keys()}  # noqa: SIM118
    except (safetensors.SafetensorError, OSError, ValueError) as error:
        raise ModelFileError(f"{name} is no safetensors file, or a damaged one: {error}") from error
    try:
        entry = json.loads(content or "null")
        found, version, header = entry["kind"], entry["version"], entry["header"]
    except (KeyError, RecursionError, TypeError, ValueError) as error:
        raise ModelFileError(
            f"{name} is a safetensors file, but not one that lacforest wrote"
        ) from error
    if found != kind:
        raise ModelFileError(f"{name} is a {found}, where a {kind} is wanted")
    if version != VERSION:
        raise ModelFileError(
            f"{name} has format version {version}, and this lacforest reads version {VERSION}: use "
            "the lacforest that wrote it"
        )
    if not isinstance(header, dict):
        raise ModelFileError(f"{name} has a damaged header")
    return header, tensors
