"""The compiled core: criterion, keys, splitter, partition, builder, coding and prediction.

Nothing here imports scikit-learn, and nothing below the builder knows what an estimator is.
"""
