"""The site: guide, reference and changelog with Sphinx; `make site` adds reports and notebooks."""

import re
from importlib.metadata import version as version_of

project = "elubench"
author = "elubench contributors"
copyright = f"{author}, BSD-3-Clause"
version = release = version_of("elubench")

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.viewcode"]
exclude_patterns = ["README.md"]
myst_heading_anchors = 3
autodoc_default_options = {"members": True, "imported-members": True, "member-order": "bysource"}
autodoc_inherit_docstrings = False  # what a class only overrides is explained where it is declared
autodoc_type_aliases = {name: name for name in ("ArrayLike", "Floats")}
autodoc_typehints_format = "short"
python_use_unqualified_type_names = True

html_theme = "furo"
html_title = "elubench"
html_static_path = ["static"]
html_css_files = ["site.css"]
html_copy_source = False
html_show_sphinx = False
html_theme_options = {"navigation_with_keys": False}


def setup(app):  # noqa: D103
    app.connect("autodoc-process-docstring", _as_restructured_text)
    app.connect("autodoc-process-signature", _as_written)
    app.connect("html-page-context", _for_keyboards, priority=900)  # after the theme's own


def _for_keyboards(app, page, template, context, tree):
    """Let keys scroll what may be too wide; a caption of the contents is a heading of level 2."""
    for name, plain, full in (
        ("furo_navigation_tree", 'role="heading"', 'role="heading" aria-level="2"'),
        ("body", "<pre>", '<pre tabindex="0">'),
        ("body", '<div class="table-wrapper', '<div tabindex="0" class="table-wrapper'),
    ):
        if isinstance(context.get(name), str):
            context[name] = context[name].replace(plain, full)


def _as_written(app, what, name, obj, options, signature, returns):
    """Types by the names that the code has for them; a default that is made anew is `...`."""
    for plain, full in ((r"\1", r"TypeAliasForwardRef\('(\w+)'\)"), ("...", "<factory>")):
        signature, returns = (text and re.sub(full, plain, text) for text in (signature, returns))
    return signature, returns


def _as_restructured_text(app, what, name, obj, options, lines):
    """Make a list of the section Parameters and literal blocks of formulas; keep |x| and part-*.csv."""
    made, listing, formula = [], False, False
    for line, below in zip(lines, [*lines[1:], ""], strict=True):
        indented = line.startswith("    ")
        if indented and not listing:
            if not formula and (not made or not made[-1]):
                made += ["::", ""]
                formula = True
        elif line:
            formula = False
        if not formula:
            parts = line.split("``")
            parts[::2] = [part.replace("|", r"\|").replace("-*", r"-\*") for part in parts[::2]]
            line = "``".join(parts)
        if set(below) == {"-"} and line.strip():
            listing = True
            line = f"**{line}**"
        elif line and set(line) == {"-"}:
            line = ""
        elif listing and (found := re.match(r"([\w, *]+) : (.*)", line)):
            line = f"* **{found[1]}**: {found[2]}"
        elif listing and indented:
            line = line[2:]
        made.append(line)
    lines[:] = made
