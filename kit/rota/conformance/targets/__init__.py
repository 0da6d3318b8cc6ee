"""What can be judged and how it is started: an address, rota's server, Kafka, librdkafka's mock, a command.

`grammar` reads the text after `--target`; `kafka_broker` and `kafka_jars` start Apache Kafka; `process` and
`guard` run commands and end them.
"""
