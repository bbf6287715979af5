"""The paper's experiments: ``python -m lacforest.experiments --help``."""
