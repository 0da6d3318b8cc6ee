"""Reports: readers of one stream of events, each making text, JSON, JUnit XML or Markdown of it.

A run emits `RunStarted`, a `CaseFinished` for each case in the order of the catalogue, and `RunFinished`.
"""
