"""What cannot be read at all."""


class ReadingError(ValueError):
    """Nothing can be read from this, or it is not known as what. The message names cause and remedy."""
