"""What the tests of real clients have beside the kit: planted bugs, and the spec behind the server."""
