"""SplitMix64 and the draws made from it, in Python integers."""

import math

_MASK = 2**64 - 1


class Stream:
    """One stream of 64-bit words."""

    def __init__(self, seed):
        self.state = int(seed)

    def word(self):
        self.state = (self.state + 0x9E3779B97F4A7C15) & _MASK
        z = self.state
        z = ((z ^ (z >> 30)) * 0xBF58476D1CE4E5B9) & _MASK
        z = ((z ^ (z >> 27)) * 0x94D049BB133111EB) & _MASK
        return z ^ (z >> 31)

    def below(self, bound):
        """Uniform in [0, bound): the upper half of a word, scaled."""
        return (self.word() >> 32) * bound >> 32


class FeatureDraws:
    """Draws of features without replacement, node by node.

    The permutation is not reset between nodes, since a shuffle of any permutation is uniform.
    """

    def __init__(self, n_features, seed):
        self.permutation = list(range(n_features))
        self.stream = Stream(seed)

    def at_node(self):
        """Yield the features in the order of the draw, one word of the stream each."""
        features = self.permutation
        for n_drawn in range(len(features)):
            other = n_drawn + self.stream.below(len(features) - n_drawn)
            features[n_drawn], features[other] = features[other], features[n_drawn]
            yield features[n_drawn]


def limit_rows(members, n_labeled, most_labeled, most_unlabeled, seed):
    """Members with at most so many labelled and unlabelled rows, and the seed of later draws.

    Labelled rows are drawn first. None is no limit.
    """
    labeled = [row for row in members if row < n_labeled]
    unlabeled = [row for row in members if row >= n_labeled]
    labeled, seed = _keep_some(labeled, most_labeled, seed)
    unlabeled, seed = _keep_some(unlabeled, most_unlabeled, seed)
    return labeled + unlabeled, seed


def _keep_some(rows, most, seed):
    """Every row is kept with chance (still to keep) / (rows left)."""
    if most is None or len(rows) <= most:
        return rows, seed
    stream, kept = Stream(seed), []
    for place, row in enumerate(rows):
        if len(kept) == most:
            break
        if stream.below(len(rows) - place) < most - len(kept):
            kept.append(row)
    return kept, stream.state


def bootstrap_sample(n_labeled, n_unlabeled, seed):
    """Rows of one tree: bootstrap samples of the labelled and the unlabelled rows, ascending."""
    stream = Stream(seed)
    labeled = [stream.below(n_labeled) for _ in range(n_labeled)]
    unlabeled = [n_labeled + stream.below(n_unlabeled) for _ in range(n_unlabeled)]
    return sorted(labeled) + sorted(unlabeled)


def row_share(row, seed):
    """The hash of a row number and a seed in [0, 1): word row + 1 of the seed's stream."""
    return (Stream(seed + row * 0x9E3779B97F4A7C15).word() >> 11) / 2**53


def hashed_sample(n_labeled, n_unlabeled, seed, rate, bootstrap=False):
    """Rows of one tree by their hashes, ascending: each is taken with chance `rate`.

    With bootstrap, the number of times is a Poisson variable of mean `rate`, by inversion.
    """
    taken = []
    for first, n_rows, own_seed in ((0, n_labeled, seed), (n_labeled, n_unlabeled, ~seed % 2**64)):
        for row in range(n_rows):
            share = row_share(row, own_seed)
            if bootstrap:
                taken += [first + row] * _poisson_quantile(share, rate)
            elif share >= 1 - rate:
                taken.append(first + row)
    return taken


def _poisson_quantile(share, mean):
    times, total = 0, math.exp(-mean)
    term = total
    while share >= total and total < 1 - 2**-53:
        times += 1
        term *= mean / times
        total += term
    return times
