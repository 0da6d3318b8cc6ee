"""The command line: one module per verb, loaded when it is called; errors are one line and an exit code.

Exit codes: 0 holds or conforms, 1 violated, 2 usage or configuration, 3 undecided, 4 internal error,
5 nothing selected, 130 interrupted.
"""
