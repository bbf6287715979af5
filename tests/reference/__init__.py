"""Naive twins of the compiled core: plain Python, written from the paper's formulas.

They share no code with lacforest. Where the paper leaves a choice open (ties, missing values, the
order of draws) the twins make the choice that the package documents.
"""
