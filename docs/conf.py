"""Sphinx configuration. `make docs` builds the pages; nothing is fetched from the network."""

from __future__ import annotations

import os
import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE / "_ext"))
os.environ.setdefault("MPLBACKEND", "agg")

import safescreen  # noqa: E402

project = "safescreen"
author = "The safescreen developers"
project_copyright = author
version = release = safescreen.__version__

extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "numpydoc",
    "sphinx_copybutton",
    "sphinx_gallery.gen_gallery",
    "command_help",
]
exclude_patterns = ["_build", "benchmarks/README.md", "reproduction/[a-z]*.md"]  # their README has all the tables
templates_path = ["_templates"]
default_role = "py:obj"

myst_enable_extensions = ["deflist", "fieldlist"]
myst_heading_anchors = 3

autodoc_typehints = "none"  # the docstrings name the types in words
autodoc_member_order = "bysource"
autosummary_generate = True
numpydoc_show_class_members = False
numpydoc_xref_param_type = False

sphinx_gallery_conf = {
    "examples_dirs": str(HERE.parent / "examples"),
    "gallery_dirs": "gallery",
    "filename_pattern": r"/plot_",
    "within_subsection_order": "FileNameSortKey",
    "download_all_examples": False,
    "show_memory": False,
    "write_computation_times": False,
    "show_signature": False,
    "remove_config_comments": True,
    "abort_on_example_error": True,
    "only_warn_on_example_error": False,
    "min_reported_time": 0,
    "image_scrapers": ("matplotlib",),
    "doc_module": ("safescreen",),
    "backreferences_dir": "gallery/backreferences",
    "ignore_repr_types": r"Display",
    "inspect_global_variables": False,
}

html_theme = "furo"
html_title = "safescreen"
html_static_path = ["_static"]
html_css_files = ["wide.css"]
html_copy_source = False
html_show_sourcelink = False
copybutton_exclude = ".linenos, .gp, .go"
