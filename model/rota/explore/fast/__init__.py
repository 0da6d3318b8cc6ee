"""The fast engine: one machine, all cores; compiled where numba is there, else the same search in numpy."""
