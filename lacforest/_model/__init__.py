"""The frozen forest: its arrays and their checks, views of single trees, files."""
