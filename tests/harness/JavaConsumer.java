import java.time.Duration;
import java.util.List;
import java.util.Properties;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.errors.WakeupException;
import org.apache.kafka.common.serialization.StringDeserializer;

/** A consumer that polls until it is told to end, then closes: JavaConsumer.java TOPIC NAME=VALUE… */
public class JavaConsumer {
    public static void main(String[] arguments) throws Exception {
        Properties settings = new Properties();
        settings.put("key.deserializer", StringDeserializer.class.getName());
        settings.put("value.deserializer", StringDeserializer.class.getName());
        for (int place = 1; place < arguments.length; place++) {
            String[] pair = arguments[place].split("=", 2);
            settings.put(pair[0], pair[1]);
        }
        long slow = Long.parseLong((String) settings.getOrDefault("slow", "0"));
        settings.remove("slow");
        Thread main = Thread.currentThread();
        try (KafkaConsumer<String, String> consumer = new KafkaConsumer<>(settings)) {
            Runtime.getRuntime().addShutdownHook(new Thread(() -> {
                consumer.wakeup();
                try {
                    main.join();
                } catch (InterruptedException ignored) {
                }
            }));
            consumer.subscribe(List.of(arguments[0]));
            for (long rounds = 0; ; rounds++) {
                consumer.poll(Duration.ofMillis(200));
                if (slow > 0 && rounds == 40) {
                    Thread.sleep(slow);
                }
            }
        } catch (WakeupException ended) {
            return;
        }
    }
}
