"""The documentation as a site: `python -m rota.report.site FOLDER` lays out what Sphinx makes pages of.

The pages of docs as they are, with the marks of their commands as labels that one sees, and beside them pages
that are made from the spec, the command line and the packages: `make docs`.
"""

from rota.report.site.layout import lay_out

__all__ = ["lay_out"]
