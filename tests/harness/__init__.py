"""What tests of several folders share: stages for the spec, real clients, Spark in one process, sockets."""
