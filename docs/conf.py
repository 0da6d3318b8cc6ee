"""Settings of the site; `make docs` lays its sources out (`rota.report.site`) and calls Sphinx on them."""

import re
from importlib.metadata import version as version_of

from furo.navigation import get_navigation_tree

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


TREES = {}
"""Folder of pages -> the sidebar's tree there, where none of its pages is marked as the one that is shown."""


def no_tree_yet(app, page, template, context, doctree):
    """The theme makes the whole tree anew for each page, which is most of a build: it gets none to make."""
    context["own_toctree"] = context.get("toctree")
    context["toctree"] = lambda **how: ""


def tree_of(page, own, toctree):
    """The tree on a page. own: the page's file; toctree: makes what Sphinx has of it there."""
    folder = page.rpartition("/")[0]
    if folder not in TREES:
        listed = toctree(collapse=False, titles_only=True, maxdepth=-1, includehidden=True)
        TREES[folder] = without_marks(get_navigation_tree(listed), own)
    return with_marks(TREES[folder], own)


def without_marks(tree, own):
    """As it is on no page."""
    tree = re.sub(r'(<li class="toctree-l\d+) current( has-children)?( current-page)?">', r'\1\2">', tree)
    tree = tree.replace('<ul class="current">', "<ul>").replace(' checked=""', "")
    return tree.replace('<a class="current reference internal" href="#">', link(own))


def with_marks(tree, own):
    """The page's entry leads nowhere, and the branches that it is on are open."""
    before, found, after = tree.partition(link(own))
    if not found:
        return tree
    opened = []
    for tag in re.finditer(r"<(/?)(?:li|ul)\b[^>]*>", before):
        if tag[1]:
            opened.pop()
        else:
            opened.append(tag)
    for tag in reversed(opened):
        rest = before[tag.end() :]
        if tag[0] == "<ul>":
            before = f'{before[: tag.start()]}<ul class="current">{rest}'
        else:
            marked = re.sub(r"toctree-l\d+", r"\g<0> current", tag[0])
            if tag is opened[-1]:
                marked = marked.replace('">', ' current-page">')
            else:
                rest = rest.replace(' class="toctree-checkbox"', ' checked="" class="toctree-checkbox"', 1)
            before = before[: tag.start()] + marked + rest
    if "has-children" in opened[-1][0]:
        after = after.replace(' class="toctree-checkbox"', ' checked="" class="toctree-checkbox"', 1)
    return f'{before}<a class="current reference internal" href="#">{after}'


def link(own):
    """The entry of a page beside others of its folder."""
    return f'<a class="reference internal" href="{own}">'


def by_keyboard(app, page, template, context, doctree):
    """A caption in the sidebar is a heading with a level; code that is too wide is scrolled by keys, too."""
    own = app.builder.get_target_uri(page).rpartition("/")[2]
    toctree = context.pop("own_toctree")
    tree = tree_of(page, own, toctree) if toctree else ""
    context["furo_navigation_tree"] = tree.replace('role="heading"', 'role="heading" aria-level="2"')
    body = context.get("body", "")
    context["body"] = body.replace(
        '<div class="highlight"><pre>', '<div class="highlight"><pre tabindex="0">'
    )


def setup(app):
    app.connect("html-page-context", no_tree_yet, priority=100)
    app.connect("html-page-context", by_keyboard, priority=900)
    return {"parallel_read_safe": True, "parallel_write_safe": True}
