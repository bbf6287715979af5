"""The compiled core: coding, criteria, the search for cuts, growing and prediction.

Nothing here imports scikit-learn, and nothing here depends on an estimator.
"""
