import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.regex.Pattern;
import org.apache.kafka.clients.consumer.ConsumerGroupMetadata;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.ConsumerRecord;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;
import org.apache.kafka.common.serialization.StringDeserializer;

/** A consumer of kafka-clients in a process of its own; commands and events as rota.clients.consumer_process has them. */
public final class NightConsumer implements ConsumerRebalanceListener {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Map<String, String> ASSIGNORS = Map.of(
            "range", "RangeAssignor", "roundrobin", "RoundRobinAssignor", "cooperative-sticky", "CooperativeStickyAssignor");

    private final LinkedBlockingQueue<JsonNode> commands = new LinkedBlockingQueue<>();
    private final KafkaConsumer<String, String> consumer;
    private final Map<TopicPartition, OffsetAndMetadata> positions = new HashMap<>();
    private final boolean commitsOnRevoke;
    private List<Object> view = List.of();
    private boolean open = true;
    private boolean subscribed;

    private NightConsumer(JsonNode settings) {
        commitsOnRevoke = settings.path("commit_on_revoke").asBoolean();
        Properties given = new Properties();
        given.put("bootstrap.servers", settings.get("address").asText());
        given.put("group.id", settings.get("group_id").asText());
        given.put("client.id", settings.get("client_id").asText());
        given.put("session.timeout.ms", settings.get("session_timeout_ms").asText());
        given.put("heartbeat.interval.ms", settings.get("heartbeat_interval_ms").asText());
        given.put("auto.offset.reset", settings.get("auto_offset_reset").asText());
        given.put("partition.assignment.strategy", "org.apache.kafka.clients.consumer." + ASSIGNORS.get(settings.get("assignor").asText()));
        given.put("enable.auto.commit", "false");
        given.put("metadata.max.age.ms", "500");
        given.put("allow.auto.create.topics", "false");
        settings.path("more").fields().forEachRemaining(one -> given.put(one.getKey(), one.getValue().asText()));
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
                carryOut(command);
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

    private void carryOut(JsonNode command) throws Exception {
        try {
            obey(command);
        } catch (RuntimeException error) {
            emit("error", Map.of("what", command.get("do").asText(), "error", String.valueOf(error)));
        }
    }

    private void obey(JsonNode command) throws Exception {
        switch (command.get("do").asText()) {
            case "subscribe" -> subscribe(command);
            case "hold" -> {
                emit("busy", Map.of());
                carryOut(commands.take());
            }
            case "assign" -> {
                List<TopicPartition> taken = partitions(command.get("partitions"));
                subscribed = true;
                consumer.assign(taken);
                emit("assigned", Map.of("partitions", plain(taken), "manual", true));
            }
            case "seek" -> {
                TopicPartition one = partition(command.get("partition"));
                consumer.seek(one, command.get("offset").asLong());
                emit("sought", Map.of("partition", List.of(one.topic(), one.partition()), "offset", command.get("offset")));
            }
            case "commit" -> commit(new HashMap<>(positions));
            case "committed" -> {
                Set<TopicPartition> asked = new HashSet<>(partitions(command.get("partitions")));
                emit("fetched", Map.of("offsets", listed(consumer.committed(asked))));
            }
            case "enforce" -> consumer.enforceRebalance("asked for in the night");
            case "unsubscribe" -> {
                subscribed = false;
                consumer.unsubscribe();
            }
            case "close" -> {
                open = false;
                consumer.close();
            }
            default -> throw new IllegalArgumentException(command.toString());
        }
    }

    private void subscribe(JsonNode command) {
        subscribed = true;
        if (!command.get("pattern").isNull()) {
            consumer.subscribe(Pattern.compile(command.get("pattern").asText()), this);
            return;
        }
        List<String> topics = new ArrayList<>();
        command.get("topics").forEach(topic -> topics.add(topic.asText()));
        consumer.subscribe(topics, this);
    }

    private void poll() throws Exception {
        if (!subscribed) {
            Thread.sleep(50);
            return;
        }
        for (ConsumerRecord<String, String> record : consumer.poll(Duration.ofMillis(50))) {
            TopicPartition partition = new TopicPartition(record.topic(), record.partition());
            positions.put(partition, new OffsetAndMetadata(record.offset() + 1));
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

    private void commit(Map<TopicPartition, OffsetAndMetadata> offsets) {
        consumer.commitSync(offsets, Duration.ofSeconds(10));
        emit("committed", Map.of("offsets", listed(offsets)));
    }

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
        emit("assigned", Map.of("partitions", plain(partitions)));
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
        Map<TopicPartition, OffsetAndMetadata> due = new HashMap<>(positions);
        due.keySet().retainAll(partitions);
        if (commitsOnRevoke && !due.isEmpty()) {
            try {
                commit(due);
            } catch (RuntimeException error) {
                emit("error", Map.of("what", "commit on revoke", "error", String.valueOf(error)));
            }
        }
        positions.keySet().removeAll(partitions);
        emit("revoked", Map.of("partitions", plain(partitions)));
    }

    @Override
    public void onPartitionsLost(Collection<TopicPartition> partitions) {
        positions.keySet().removeAll(partitions);
        emit("lost", Map.of("partitions", plain(partitions)));
    }

    private static List<TopicPartition> partitions(JsonNode listed) {
        List<TopicPartition> found = new ArrayList<>();
        listed.forEach(one -> found.add(partition(one)));
        return found;
    }

    private static TopicPartition partition(JsonNode pair) {
        return new TopicPartition(pair.get(0).asText(), pair.get(1).asInt());
    }

    private static List<Object> listed(Map<TopicPartition, OffsetAndMetadata> offsets) {
        List<Object> found = new ArrayList<>();
        offsets.forEach((one, offset) -> {
            List<Object> row = new ArrayList<>(List.of(one.topic(), one.partition()));
            row.add(offset == null ? null : offset.offset());
            found.add(row);
        });
        return found;
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
