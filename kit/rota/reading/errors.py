"""What cannot be read at all."""


class ReadingError(ValueError):
    """Nothing can be read from this, or it is not known as what. The message names cause and remedy.

    there: whether it is there; else nobody listens at an address.
    """

    def __init__(self, message: str, there: bool = True) -> None:
        super().__init__(message)
        self.there = there
