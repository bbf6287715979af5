"""Ranks of a column, from their definition."""


def rank(column, value):
    """Share of rows below a value, where equal ones count half."""
    return sum((other < value) + (other == value) / 2 for other in column) / len(column)


def rank_between(column, value):
    """The same, on the line between the nearest values to both sides; flat beyond the ends."""
    below = max((other for other in column if other <= value), default=min(column))
    above = min((other for other in column if other >= value), default=max(column))
    if below >= above:
        return rank(column, above if value < below else below)
    share = (value - below) / (above - below)
    return (1 - share) * rank(column, below) + share * rank(column, above)
