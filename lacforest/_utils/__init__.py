"""Helpers that every room may use: files, threads, progress, rollback, plots."""
