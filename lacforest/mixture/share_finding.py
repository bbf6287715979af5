"""What the shares of the known classes in deployment mean for a fit, in plain language."""

from __future__ import annotations

import numpy as np

from lacforest._utils.findings import Finding
from lacforest.mixture._share_mixture import ShareMixture

# Classes that a message names.
_MOST_NAMED = 4


def share_finding(mixture: ShareMixture) -> Finding:
    """Whether known classes occur in deployment in the shares in which they were labelled.

    Parameters
    ----------
    mixture : ShareMixture
        Fitted, with intervals if the shares have moved.
    """
    topic, shift = "class shares", mixture.share_shift_
    if not mixture.has_shifted_:
        return Finding(
            topic,
            "ok",
            "known classes occur in deployment as labelled, as far as can be seen (shift "
            f"{shift:.1f}).",
        )
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
