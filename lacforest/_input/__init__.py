"""From the arguments of a user to checked parameters, labels, weights and tables."""
