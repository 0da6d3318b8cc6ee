import java.time.Duration;
import java.util.Collection;
import java.util.List;
import java.util.Properties;
import java.util.Set;
import java.util.TreeSet;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.StringDeserializer;

/**
 * A consumer by the consumer protocol that polls until it gets SIGTERM, then closes: ConsumerMember.java
 * ADDRESS GROUP TOPIC SLOW NAME=VALUE… Its callback for revoked partitions takes SLOW milliseconds. It prints
 * what happens, and after a poll what it uses if that has changed.
 */
public class ConsumerMember implements ConsumerRebalanceListener {
    private final long slow;

    private ConsumerMember(long slow) {
        this.slow = slow;
    }

    private static void say(String what, Collection<TopicPartition> some) {
        TreeSet<Integer> places = new TreeSet<>();
        some.forEach(one -> places.add(one.partition()));
        System.out.println(what + " " + places);
        System.out.flush();
    }

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> some) {
        say("assigned", some);
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> some) {
        say("revokes", some);
        try {
            Thread.sleep(slow);
        } catch (InterruptedException ended) {
            throw new IllegalStateException(ended);
        }
        say("revoked", some);
    }

    @Override
    public void onPartitionsLost(Collection<TopicPartition> some) {
        say("lost", some);
    }

    public static void main(String[] arguments) throws Exception {
        Properties settings = new Properties();
        settings.put("bootstrap.servers", arguments[0]);
        settings.put("group.id", arguments[1]);
        settings.put("group.protocol", "consumer");
        settings.put("auto.offset.reset", "earliest");
        for (int place = 4; place < arguments.length; place++) {
            String[] pair = arguments[place].split("=", 2);
            settings.put(pair[0], pair[1]);
        }
        StringDeserializer text = new StringDeserializer();
        Thread main = Thread.currentThread();
        try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(settings, text, text)) {
            Runtime.getRuntime().addShutdownHook(new Thread(() -> {
                consumer.wakeup();
                try {
                    main.join();
                } catch (InterruptedException ignored) {
                }
            }));
            consumer.subscribe(List.of(arguments[2]), new ConsumerMember(Long.parseLong(arguments[3])));
            Set<TopicPartition> was = Set.of();
            while (true) {
                consumer.poll(Duration.ofMillis(20)).forEach(one -> {
                    System.out.println("read " + one.value());
                    System.out.flush();
                });
                if (!consumer.assignment().equals(was)) {
                    was = Set.copyOf(consumer.assignment());
                    say("uses", was);
                }
            }
        } catch (WakeupException ended) {
            return;
        }
    }
}
