"""Experiments that measure the library: ``python -m lacforest.experiments --help``."""
