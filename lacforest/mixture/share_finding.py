"""What the shares of the known classes in deployment mean for a fit, in plain language."""

from __future__ import annotations

import numpy as np

from lacforest._utils.findings import Finding
from lacforest.mixture._share_mixture import LARGEST_CHANCE_SHIFT, ShareMixture

# Classes that a message names.
_MOST_NAMED = 4
# Below this distinction of the known classes, new classes may be taken for known ones: at most 0.35
# on a table of income steps, where theta is far too low, and at least 0.65 on six other tables.
_LEAST_DISTINCTION = 0.5


def share_finding(mixture: ShareMixture) -> Finding:
    """Whether known classes occur in deployment in the shares in which they were labelled.

    Parameters
    ----------
    mixture : ShareMixture
        Fitted, with intervals if the shares have moved.
    """
    topic, shift = "class shares", mixture.share_shift_
    if not mixture.has_shifted_:
        as_labeled = "known classes occur in deployment as labelled, as far as can be seen"
        if shift > LARGEST_CHANCE_SHIFT:  # but the rows hardly tell classes apart
            return Finding(topic, "ok", f"{as_labeled}.")
        chance = f"chance alone gives up to {LARGEST_CHANCE_SHIFT:g}"
        return Finding(topic, "ok", f"{as_labeled} (shift {shift:.1f}; {chance}).")
    labeled, known = mixture.labeled_shares_, mixture.known_shares_
    order = np.argsort(-np.abs(known - labeled), kind="stable")[:_MOST_NAMED]
    told = []
    for k in order:
        ends = ""
        if mixture.known_shares_interval_ is not None:
            low, high = mixture.known_shares_interval_[k]
            ends = f" ({low:.0%} to {high:.0%})"
        told.append(f"{mixture.classes_[k]} {labeled[k]:.0%} -> {known[k]:.0%}{ends}")
    more = f" and {len(known) - len(told)} more" if len(known) > len(told) else ""
    return Finding(
        topic,
        "caution",
        f"known classes occur in deployment in other shares than labelled (shift {shift:.1f}): "
        f"{', '.join(told)}{more}. Theta takes the estimated shares into account, and so does "
        'known_shares="auto"; if you know the shares, pass them as known_shares.',
    )


def look_alike_findings(mixture: ShareMixture) -> tuple[Finding, ...]:
    """A caution where trees cannot tell even the known classes apart; empty otherwise.

    A new class can be seen only if it differs from the known ones, and how much classes differ in
    these columns is seen from the known ones.

    Parameters
    ----------
    mixture : ShareMixture
        Fitted.
    """
    visible = _low_distinction(mixture)
    if visible is None:
        return ()
    text = (
        "the known classes look alike: on a scale from 0 (chance) to 1, trees tell them apart by "
        f"{visible:.2f} on labelled rows that they did not see. New classes that look as "
        "much like known ones are taken for known, so theta cannot be identified and is probably "
        "too low. Better columns or more labelled rows may separate the classes; if you know the "
        "share of new rows, pass it as theta."
    )
    return (Finding("look-alikes", "caution", text),)


def plausible_interval(interval: tuple[float, float], mixture: ShareMixture) -> tuple[float, float]:
    """The interval of theta, with an upper end that allows for new rows which look known.

    Where the known classes look alike, only a part of the new rows can be expected to show: the
    part by which known classes are told apart.

    Parameters
    ----------
    interval : tuple of float
        Of the rows that show.
    mixture : ShareMixture
        Fitted.
    """
    visible = _low_distinction(mixture)
    if visible is None:
        return interval
    low, high = interval
    return low, 1.0 if visible <= high else high / visible


def _low_distinction(mixture: ShareMixture) -> float | None:
    """How far the known classes are told apart, from 0 on, where that is too little to rely on."""
    visible = mixture.distinction_
    if visible is None or visible >= _LEAST_DISTINCTION:
        return None
    return max(visible, 0.0)
