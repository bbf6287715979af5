"""Shares of a batch, and whether they are those of the fit: plain loops and searches over grids."""

import math

SQUARE, NEW_ODDS, ALLOWANCE = 2, 1.7, 0.02


def ratios(votes, prior):
    """Likelihood of each row under each class, up to a factor per row."""
    found = []
    for row in votes:
        odds = [max(vote, 1e-3) ** SQUARE for vote in row]
        odds[-1] *= NEW_ODDS
        found.append([odd / sum(odds) / share for odd, share in zip(odds, prior, strict=True)])
    return found


def _dot(row, shares):
    return sum(ratio * share for ratio, share in zip(row, shares, strict=True))


def log_likelihood(found, shares):
    """Of all rows, where classes have these shares."""
    return sum(math.log(_dot(row, shares)) for row in found)


def likeliest_shares(found, n_steps=2000):
    """By EM from equal shares: the likelihood has a single peak, whatever the start."""
    n_classes = len(found[0])
    shares = [1 / n_classes] * n_classes
    for _ in range(n_steps):
        posterior = [0.0] * n_classes
        for row in found:
            whole = _dot(row, shares)
            for k in range(n_classes):
                posterior[k] += shares[k] * row[k] / whole / len(found)
        shares = posterior
    return shares


def statistic(votes, prior, n_fitted):
    """How much better the likeliest shares explain a batch than those of the fit.

    Theta of the fit may be off by the allowance; the shares of the fit are those of a sample.
    """
    found = ratios(votes, prior)
    free = log_likelihood(found, likeliest_shares(found))
    known = [share / (1 - prior[-1]) for share in prior[:-1]]
    low, high = max(prior[-1] - ALLOWANCE, 0), min(prior[-1] + ALLOWANCE, 1)
    bound = max(
        log_likelihood(found, [share * (1 - theta) for share in known] + [theta])
        for theta in (low + (high - low) * i / 200 for i in range(201))
    )
    return 2 * (free - bound) * n_fitted / (n_fitted + len(votes))
