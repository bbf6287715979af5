"""Another batch, same trees: what it is made of, and whether that calls for attention."""

from lacforest.adaptation._batch import Adaptation, class_factors, describe_batch
from lacforest.adaptation._shares import BatchShares, estimate_shares

__all__ = ["Adaptation", "BatchShares", "class_factors", "describe_batch", "estimate_shares"]
