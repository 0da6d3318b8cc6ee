"""What the tests of real clients have beside the kit: bugs that are planted, and the spec behind the server."""
