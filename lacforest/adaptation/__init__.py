"""Another batch, same trees: what it is made of, and whether that calls for attention."""

from lacforest.adaptation.batch import Adaptation

__all__ = ["Adaptation"]
