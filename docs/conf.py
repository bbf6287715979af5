"""Configuration of the documentation. The package must be installed: `make docs` sees to that."""

from importlib.metadata import version as installed_version

project = "lacforest"
author = "The lacforest developers"
copyright = "2026, The lacforest developers"  # noqa: A001
release = version = installed_version("lacforest")

extensions = ["sphinx.ext.autodoc", "sphinx.ext.autosummary", "numpydoc"]
templates_path = ["_templates"]
exclude_patterns = ["_build"]
default_role = "code"

autosummary_generate = True
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings name the types in fewer words
# The class template lists the members itself, without what scikit-learn adds to every estimator.
numpydoc_show_class_members = False

html_theme = "pydata_sphinx_theme"
html_title = "lacforest"
html_show_sourcelink = False
html_theme_options = {
    "navigation_with_keys": False,
    "footer_start": ["copyright"],
    "footer_end": [],
}
