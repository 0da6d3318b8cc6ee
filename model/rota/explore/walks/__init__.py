"""Random walks through what is too large to be explored, and the shortening of the runs that they find."""
