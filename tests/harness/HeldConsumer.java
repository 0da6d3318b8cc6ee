import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Properties;
import java.util.TreeSet;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * A consumer by the consumer protocol whose first callback for assigned partitions waits for a byte on its
 * input, and whose callbacks for revoked ones take a second: HeldConsumer.java ADDRESS GROUP TOPIC. It prints
 * what happens, and after a poll what it uses if that has changed.
 */
public class HeldConsumer implements ConsumerRebalanceListener {
    private boolean held = true;

    private static void say(String what, Collection<TopicPartition> some) {
        TreeSet<Integer> places = new TreeSet<>();
        some.forEach(one -> places.add(one.partition()));
        System.out.println(what + " " + places);
        System.out.flush();
    }

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> some) {
        say("assigned", some);
        if (held) {
            held = false;
            try {
                System.in.read();
            } catch (java.io.IOException ended) {
                throw new IllegalStateException(ended);
            }
        }
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> some) {
        say("revoked", some);
        try {
            Thread.sleep(1000);
        } catch (InterruptedException ended) {
            throw new IllegalStateException(ended);
        }
    }

    public static void main(String[] arguments) {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", arguments[0]);
        settings.put("group.id", arguments[1]);
        settings.put("group.protocol", "consumer");
        settings.put("enable.auto.commit", "false");
        settings.put("metadata.max.age.ms", "500");
        StringDeserializer text = new StringDeserializer();
        try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(settings, text, text)) {
            consumer.subscribe(List.of(arguments[2]), new HeldConsumer());
            for (Collection<TopicPartition> was = List.of(); ; was = List.copyOf(consumer.assignment())) {
                consumer.poll(Duration.ofMillis(20));
                if (!consumer.assignment().equals(java.util.Set.copyOf(was))) {
                    say("uses", consumer.assignment());
                }
            }
        }
    }
}
