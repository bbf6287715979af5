"""Sphinx configuration. The package must be installed, as `make docs` does."""

import os
from importlib.metadata import version as installed_version
from importlib.util import find_spec

os.environ.setdefault("MPLBACKEND", "Agg")

project = "lacforest"
author = "The lacforest developers"
copyright = "2026, The lacforest developers"  # noqa: A001
release = version = installed_version("lacforest")

extensions = [
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_gallery.gen_gallery",
]
templates_path = ["_templates"]
exclude_patterns = ["_build", "**/GALLERY_HEADER.rst", "sg_execution_times.rst"]
default_role = "code"

autosummary_generate = True
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # the docstrings describe the types more briefly
# The class template lists the members, without those that scikit-learn adds to every estimator.
numpydoc_show_class_members = False

sphinx_gallery_conf = {
    "examples_dirs": "../examples",
    "gallery_dirs": "auto_examples",
    "subsection_order": [
        f"../examples/{name}" for name in ("learning", "theta", "workflow", "inspection")
    ],
    "within_subsection_order": "FileNameSortKey",
    # The neural forest requires torch; without it, omit its example.
    "ignore_pattern": r"__init__\.py"
    if find_spec("torch")
    else r"__init__\.py|plot_deep_forest\.py|plot_neural_images\.py",
    # Fail the build if an example fails.
    "abort_on_example_error": True,
    "download_all_examples": False,
    "show_signature": False,
    "capture_repr": (),  # show plots and printed output, not the last value of a block
    "remove_config_comments": True,
    "min_reported_time": 1_000,
    "write_computation_times": False,
    # Link names of the package in example code to their API pages, without network access.
    "reference_url": {"lacforest": None},
    "doc_module": ("lacforest",),
    "plot_gallery": os.environ.get("LACFOREST_DOCS_GALLERY", "1") == "1",
}

html_theme = "pydata_sphinx_theme"
html_title = "lacforest"
html_static_path = ["_static"]
html_css_files = ["lacforest.css"]
html_show_sourcelink = False
html_theme_options = {
    "navigation_with_keys": False,
    "navbar_align": "left",
    "header_links_before_dropdown": 6,
    "show_toc_level": 2,
    "footer_start": ["copyright"],
    "footer_end": [],
}
# Pages without subpages have no left sidebar.
html_sidebars = {page: [] for page in ("index", "quickstart", "install", "api")}


def setup(app):
    """Render formulas as MathML, which browsers support without scripts or network access."""
    from docutils import nodes
    from docutils.utils.math.latex2mathml import tex2mathml

    def visit_inline(self, node):
        self.body.append(tex2mathml(node.astext()))
        raise nodes.SkipNode

    def visit_block(self, node):
        self.body.append(f'<div class="math">{tex2mathml(node.astext(), as_block=True)}</div>')
        raise nodes.SkipNode

    app.add_html_math_renderer("mathml", (visit_inline, None), (visit_block, None))


html_math_renderer = "mathml"
