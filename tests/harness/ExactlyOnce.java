import java.time.Duration;
import java.util.ArrayList;
import java.util.List;
import java.util.Map;
import java.util.Set;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.clients.producer.KafkaProducer;
import org.apache.kafka.clients.producer.ProducerRecord;
import org.apache.kafka.common.KafkaException;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;
import org.apache.kafka.common.serialization.StringSerializer;

/** Transactions of Java's producer, and what is read of them: ExactlyOnce BOOTSTRAP TOPIC GROUP. */
public class ExactlyOnce {
    private static KafkaProducer<String, String> producer(String bootstrap) {
        Map<String, Object> settings = Map.of("bootstrap.servers", bootstrap, "transactional.id", "once");
        var made = new KafkaProducer<>(settings, new StringSerializer(), new StringSerializer());
        made.initTransactions();
        return made;
    }

    private static void send(KafkaProducer<String, String> producer, String[] where, String value, long offset)
            throws Exception {
        producer.beginTransaction();
        producer.send(new ProducerRecord<>(where[1], 0, null, value)).get();
        var offsets = Map.of(new TopicPartition(where[1], 0), new OffsetAndMetadata(offset));
        producer.sendOffsetsToTransaction(offsets, new ConsumerGroupMetadata(where[2]));
    }

    public static void main(String[] where) throws Exception {
        try (var producer = producer(where[0])) {
            send(producer, where, "one", 1);
            producer.commitTransaction();
            send(producer, where, "two", 2);
            producer.abortTransaction();
            send(producer, where, "three", 3);
            producer.commitTransaction();
            send(producer, where, "four", 4);
            try (var second = producer(where[0])) {
                send(second, where, "five", 5);
                second.commitTransaction();
                producer.commitTransaction();
            } catch (KafkaException refused) {
                System.out.println("the first is told " + refused.getClass().getSimpleName());
            }
        }
        Map<String, Object> settings =
            Map.of("bootstrap.servers", where[0], "group.id", where[2], "isolation.level", "read_committed",
                "enable.auto.commit", false);
        try (var reader = new KafkaConsumer<>(settings, new StringDeserializer(), new StringDeserializer())) {
            var partition = new TopicPartition(where[1], 0);
            reader.assign(List.of(partition));
            reader.seekToBeginning(List.of(partition));
            var read = new ArrayList<String>();
            for (int rounds = 0; rounds < 100 && !read.contains("five"); rounds++) {
                reader.poll(Duration.ofMillis(100)).forEach(record -> read.add(record.value()));
            }
            System.out.println("read " + String.join(" ", read));
            System.out.println("committed " + reader.committed(Set.of(partition)).get(partition).offset());
        }
    }
}
