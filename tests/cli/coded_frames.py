"""A coder that is fitted on the columns of a test."""

import numpy as np
import pandas as pd

from lacforest.tabular import TableCoder


def fit(labeled, unlabeled=None, **options):
    """Fit a coder on a frame with one more column that is always usable."""
    frames = [pd.DataFrame(values) for values in (labeled, unlabeled or labeled)]
    for frame in frames:
        frame["ok"] = np.arange(len(frame)) % 2 + 0.5
    return TableCoder(**options).fit(*frames, sources=("a.csv", "b.csv"))


def kinds_of(values, **options):
    coder = fit({"a": values}, **options)
    return coder.kinds.get("a"), coder.encode(pd.DataFrame({"a": values, "ok": 0.5}))[:, :-1]
