"""Bins of a column on lists, one value at a time."""

import math


def bins_of_column(column, max_bins):
    """(representative, upper edge or None) of each bin; the last edge is None.

    With at most max_bins distinct values every value is a bin of its own. Otherwise bins take up
    equal shares of the values that are left, and end at the nearer end of a run of equal values.
    """
    present = sorted(value for value in column if not math.isnan(value))
    distinct = sorted(set(present))
    if len(distinct) <= max_bins:
        return [(value, None) for value in distinct]
    bins = []
    while present:
        n_wanted = math.ceil(len(present) / (max_bins - len(bins)))
        border = present[n_wanted - 1]
        n_before = sum(value < border for value in present)
        n_through = sum(value <= border for value in present)
        n_taken = n_through
        if n_before > 0 and n_wanted - n_before < n_through - n_wanted:
            n_taken = n_before
        taken, present = present[:n_taken], present[n_taken:]
        edge = None
        if present:
            edge = 0.5 * taken[-1] + 0.5 * present[0]
            if not taken[-1] <= edge < present[0]:
                edge = taken[-1]
        bins.append((taken[(len(taken) - 1) // 2], edge))
    return bins


def code_of(value, bins):
    """Number of the bin that holds the value; len(bins) if it is missing."""
    if math.isnan(value):
        return len(bins)
    code = 0
    while code < len(bins) - 1:
        representative, edge = bins[code]
        if value <= (representative if edge is None else edge):
            return code
        code += 1
    return code


def represented(column, max_bins):
    """The column with every value replaced by the representative of its bin."""
    bins = bins_of_column(column, max_bins)
    codes = [code_of(value, bins) for value in column]
    return [math.nan if code == len(bins) else bins[code][0] for code in codes]
