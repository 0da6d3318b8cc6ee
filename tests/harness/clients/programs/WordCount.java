// Counts words exactly once: WordCount.java BOOTSTRAP APPLICATION FROM TO COMMIT_MS STATE_FOLDER

import java.util.Arrays;
import java.util.Properties;
import org.apache.kafka.common.serialization.Serdes;
import org.apache.kafka.streams.KafkaStreams;
import org.apache.kafka.streams.StreamsBuilder;
import org.apache.kafka.streams.StreamsConfig;
import org.apache.kafka.streams.kstream.Consumed;
import org.apache.kafka.streams.kstream.Grouped;
import org.apache.kafka.streams.kstream.Materialized;
import org.apache.kafka.streams.kstream.Produced;
import org.apache.kafka.streams.state.Stores;

public final class WordCount {
    public static void main(String[] arguments) throws Exception {
        Properties with = new Properties();
        with.put(StreamsConfig.BOOTSTRAP_SERVERS_CONFIG, arguments[0]);
        with.put(StreamsConfig.APPLICATION_ID_CONFIG, arguments[1]);
        with.put(StreamsConfig.PROCESSING_GUARANTEE_CONFIG, StreamsConfig.EXACTLY_ONCE_V2);
        with.put(StreamsConfig.COMMIT_INTERVAL_MS_CONFIG, arguments[4]);
        with.put(StreamsConfig.STATESTORE_CACHE_MAX_BYTES_CONFIG, "0");
        with.put(StreamsConfig.STATE_DIR_CONFIG, arguments[5]);
        with.put(StreamsConfig.consumerPrefix("session.timeout.ms"), "6000");
        with.put(StreamsConfig.consumerPrefix("heartbeat.interval.ms"), "500");
        with.put(StreamsConfig.consumerPrefix("auto.offset.reset"), "earliest");

        StreamsBuilder builder = new StreamsBuilder();
        builder.stream(arguments[2], Consumed.with(Serdes.String(), Serdes.String()))
            .flatMapValues(line -> Arrays.asList(line.split(" ")))
            .groupBy((key, word) -> word, Grouped.with(Serdes.String(), Serdes.String()))
            .count(Materialized.<String, Long>as(Stores.inMemoryKeyValueStore("counts"))
                .withKeySerde(Serdes.String()).withValueSerde(Serdes.Long()))
            .toStream()
            .mapValues(String::valueOf)
            .to(arguments[3], Produced.with(Serdes.String(), Serdes.String()));

        KafkaStreams streams = new KafkaStreams(builder.build(), with);
        streams.setStateListener((now, before) -> System.out.println(now));
        Runtime.getRuntime().addShutdownHook(new Thread(streams::close));
        streams.start();
        System.in.read();
        System.exit(0);
    }
}
