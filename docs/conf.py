"""Settings of the site; `make docs` lays its sources out (`rota.report.site`) and calls Sphinx on them."""

from importlib.metadata import version as version_of

project = "rota"
author = "the authors of rota"
copyright = "the authors of rota, Apache-2.0"
release = version = version_of("rota")

extensions = ["myst_parser", "sphinx_copybutton"]
root_doc = "index"
exclude_patterns = ["conf.py"]
nitpicky = True
# Options begin with two hyphens, and expressions have straight quotes.
smartquotes = False

# Pages stay readable where code is hosted, so little beyond plain Markdown is switched on.
myst_enable_extensions = ["colon_fence", "deflist"]
myst_heading_anchors = 4
myst_links_external_new_tab = False

html_theme = "furo"
html_title = "rota"
html_static_path = ["_static"]
html_css_files = ["rota.css"]
html_copy_source = False
html_show_sphinx = False
# Summaries are fetched page by page, which a browser refuses to pages that are files.
html_show_search_summary = False
html_theme_options = {
    "navigation_with_keys": True,
    "light_css_variables": {
        "color-brand-primary": "#1d4ed8",
        "color-brand-content": "#1d4ed8",
        "font-stack": "system-ui, sans-serif",
        "font-stack--monospace": "ui-monospace, Menlo, Consolas, monospace",
    },
    "dark_css_variables": {
        "color-brand-primary": "#93b4ff",
        "color-brand-content": "#93b4ff",
    },
}
pygments_style = "friendly"
pygments_dark_style = "github-dark"

copybutton_prompt_text = "$ "
copybutton_only_copy_prompt_lines = True
copybutton_line_continuation_character = "\\"
copybutton_exclude = ".linenos, .gp"


def by_keyboard(app, page, template, context, doctree):
    """A caption in the sidebar is a heading with a level; code that is too wide is scrolled by keys, too."""
    tree = context.get("furo_navigation_tree", "")
    context["furo_navigation_tree"] = tree.replace('role="heading"', 'role="heading" aria-level="2"')
    body = context.get("body", "")
    context["body"] = body.replace(
        '<div class="highlight"><pre>', '<div class="highlight"><pre tabindex="0">'
    )


def setup(app):
    app.connect("html-page-context", by_keyboard, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
