"""Raw connections to a target: framed requests and answers, and error codes by their names."""
