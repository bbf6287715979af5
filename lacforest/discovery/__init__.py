"""Several new classes: groups of rows that look new, their names over time, their promotion."""

from lacforest.discovery._description import Group, GroupColumn
from lacforest.discovery._groups import NewClassGroups
from lacforest.discovery._promotion import next_shares, sizes_by_label

__all__ = ["Group", "GroupColumn", "NewClassGroups", "next_shares", "sizes_by_label"]
