"""One self-contained HTML page about a fitted forest."""

from lacforest.report._content import write_report

__all__ = ["write_report"]
