"""The pages in docs/reference: rules, properties, versions and profiles, the states of a group.

Made from the tables of rules, properties, mutants and conformance cases, from the wire schemas and from an
exploration, by `python -m rota.report.reference`; a test fails if they are out of date.
"""

from rota.report.reference.pages import pages

__all__ = ["pages"]
