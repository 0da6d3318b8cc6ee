"""What is learned about a system, as tables of numbers: machines, properties, and both over rows of states.

Numpy only. Each distinct (value, message) of a machine and each distinct combination of views goes through
the Python of spec and properties once. The fast engine, random walks, the search for lassos and Spark's
driver all search by these tables.
"""
