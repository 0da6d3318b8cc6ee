import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.regex.Pattern;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;

/** A consumer of kafka-clients in a process of its own; commands and events as rota.clients.consumer_process has them. */
public final class NightConsumer implements ConsumerRebalanceListener {
    private static final ObjectMapper JSON = new ObjectMapper();

    private final LinkedBlockingQueue<JsonNode> commands = new LinkedBlockingQueue<>();
    private final KafkaConsumer<String, String> consumer;
    private List<Object> view = List.of();
    private boolean open = true;

    private NightConsumer(JsonNode settings) {
        Properties given = new Properties();
        given.put("bootstrap.servers", settings.get("address").asText());
        given.put("group.id", settings.get("group_id").asText());
        given.put("client.id", settings.get("client_id").asText());
        given.put("session.timeout.ms", settings.get("session_timeout_ms").asText());
        given.put("heartbeat.interval.ms", settings.get("heartbeat_interval_ms").asText());
        given.put("auto.offset.reset", settings.get("auto_offset_reset").asText());
        given.put("partition.assignment.strategy", "org.apache.kafka.clients.consumer.RangeAssignor");
        given.put("enable.auto.commit", "false");
        given.put("metadata.max.age.ms", "500");
        given.put("allow.auto.create.topics", "false");
        settings.get("more").fields().forEachRemaining(one -> given.put(one.getKey(), one.getValue().asText()));
        consumer = new KafkaConsumer<>(given, new StringDeserializer(), new StringDeserializer());
    }

    public static void main(String[] words) throws Exception {
        NightConsumer one = new NightConsumer(JSON.readTree(words[0]));
        Thread reader = new Thread(one::read);
        reader.setDaemon(true);
        reader.start();
        one.run();
    }

    private void read() {
        try (BufferedReader lines = new BufferedReader(new InputStreamReader(System.in))) {
            for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                commands.add(JSON.readTree(line));
            }
        } catch (Exception error) {
            error.printStackTrace();
        }
        Runtime.getRuntime().halt(1);
    }

    private void run() throws Exception {
        emit("started", Map.of());
        while (open) {
            for (JsonNode command = commands.poll(); command != null; command = commands.poll()) {
                obey(command);
            }
            if (open) {
                try {
                    poll();
                } catch (RuntimeException error) {
                    emit("error", Map.of("what", "poll", "error", String.valueOf(error)));
                    Thread.sleep(100);
                }
            }
        }
        emit("closed", Map.of());
    }

    private void obey(JsonNode command) throws Exception {
        switch (command.get("do").asText()) {
            case "subscribe" -> subscribe(command);
            case "hold" -> {
                emit("busy", Map.of());
                obey(commands.take());
            }
            case "enforce" -> consumer.enforceRebalance("asked for in the night");
            case "unsubscribe" -> consumer.unsubscribe();
            case "close" -> {
                open = false;
                consumer.close();
            }
            default -> throw new IllegalArgumentException(command.toString());
        }
    }

    private void subscribe(JsonNode command) {
        if (!command.get("pattern").isNull()) {
            consumer.subscribe(Pattern.compile(command.get("pattern").asText()), this);
            return;
        }
        List<String> topics = new ArrayList<>();
        command.get("topics").forEach(topic -> topics.add(topic.asText()));
        consumer.subscribe(topics, this);
    }

    private void poll() throws Exception {
        if (consumer.subscription().isEmpty()) {
            Thread.sleep(50);
            return;
        }
        for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(50))) {
            Object place = List.of(record.topic(), record.partition());
            emit("record", Map.of("partition", place, "offset", record.offset(), "value", record.value()));
        }
        ConsumerGroupMetadata now = consumer.groupMetadata();
        List<Object> owned = plain(consumer.assignment());
        List<Object> seen = List.of(now.generationId(), now.memberId(), owned);
        if (!seen.equals(view)) {
            view = seen;
            emit("view", Map.of("owned", owned, "library_owns", owned));
        }
    }

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
        emit("assigned", Map.of("partitions", plain(partitions)));
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
        emit("revoked", Map.of("partitions", plain(partitions)));
    }

    @Override
    public void onPartitionsLost(Collection<TopicPartition> partitions) {
        emit("lost", Map.of("partitions", plain(partitions)));
    }

    private static List<Object> plain(Collection<TopicPartition> partitions) {
        List<TopicPartition> sorted = new ArrayList<>(partitions);
        sorted.sort((a, b) -> a.topic().equals(b.topic()) ? a.partition() - b.partition() : a.topic().compareTo(b.topic()));
        List<Object> found = new ArrayList<>();
        sorted.forEach(one -> found.add(List.of(one.topic(), one.partition())));
        return found;
    }

    private void emit(String event, Map<String, Object> more) {
        Map<String, Object> line = new LinkedHashMap<>();
        line.put("t", System.nanoTime() / 1e9);
        line.put("event", event);
        boolean member = open;
        line.put("generation", member ? consumer.groupMetadata().generationId() : -1);
        line.put("member_id", member ? consumer.groupMetadata().memberId() : "");
        line.putAll(new HashMap<>(more));
        try {
            System.out.println(JSON.writeValueAsString(line));
            System.out.flush();
        } catch (Exception error) {
            error.printStackTrace();
        }
    }
}
