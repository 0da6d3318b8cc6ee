"""The own tests of client libraries, on rota's server and on Apache Kafka."""
