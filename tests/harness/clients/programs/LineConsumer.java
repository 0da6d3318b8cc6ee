// A consumer of Java's library: commands in, events out, a JSON object a line, as consumer_process.py says it.

import com.fasterxml.jackson.databind.JsonNode;
import com.fasterxml.jackson.databind.ObjectMapper;
import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Collection;
import java.util.Comparator;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Properties;
import java.util.Set;
import java.util.concurrent.ConcurrentLinkedQueue;
import org.apache.kafka.clients.consumer.ConsumerRebalanceListener;
import org.apache.kafka.clients.consumer.KafkaConsumer;
import org.apache.kafka.clients.consumer.OffsetAndMetadata;
import org.apache.kafka.common.TopicPartition;

public final class LineConsumer implements ConsumerRebalanceListener {
    private static final ObjectMapper JSON = new ObjectMapper();
    private static final Map<String, String> ASSIGNORS = Map.of(
        "range", "RangeAssignor", "roundrobin", "RoundRobinAssignor", "cooperative-sticky", "CooperativeStickyAssignor");

    private final JsonNode settings;
    private final KafkaConsumer<String, String> consumer;
    private final Map<TopicPartition, OffsetAndMetadata> positions = new HashMap<>();
    private final Set<TopicPartition> held = new HashSet<>();
    private String view = "";
    private boolean open = true;
    private boolean subscribed = false;

    private LineConsumer(JsonNode settings) {
        this.settings = settings;
        Properties with = new Properties();
        with.put("bootstrap.servers", settings.get("address").asText());
        with.put("group.id", settings.get("group_id").asText());
        with.put("client.id", settings.get("client_id").asText());
        if (settings.get("assignor").asText().equals("consumer")) {
            with.put("group.protocol", "consumer");
        } else {
            with.put("session.timeout.ms", settings.get("session_timeout_ms").asText());
            with.put("heartbeat.interval.ms", settings.get("heartbeat_interval_ms").asText());
            with.put("partition.assignment.strategy",
                "org.apache.kafka.clients.consumer." + ASSIGNORS.get(settings.get("assignor").asText()));
        }
        if (settings.hasNonNull("instance_id")) {
            with.put("group.instance.id", settings.get("instance_id").asText());
        }
        with.put("auto.offset.reset", settings.get("auto_offset_reset").asText());
        with.put("enable.auto.commit", "false");
        with.put("fetch.max.wait.ms", "100");
        with.put("metadata.max.age.ms", "500");
        with.put("key.deserializer", "org.apache.kafka.common.serialization.StringDeserializer");
        with.put("value.deserializer", "org.apache.kafka.common.serialization.StringDeserializer");
        consumer = new KafkaConsumer<>(with);
    }

    private synchronized void emit(String event, Map<String, Object> more) {
        Map<String, Object> line = new LinkedHashMap<>();
        line.put("t", System.nanoTime() / 1e9);
        line.put("event", event);
        boolean member = subscribed && !event.equals("closed");
        line.put("generation", member ? consumer.groupMetadata().generationId() : -1);
        line.put("member_id", member ? consumer.groupMetadata().memberId() : "");
        line.putAll(more);
        try {
            System.out.println(JSON.writeValueAsString(line));
        } catch (Exception error) {
            throw new IllegalStateException(error);
        }
    }

    private void fail(String what, Exception error) {
        emit("error", Map.of("what", what, "error", error.toString()));
    }

    private static List<List<Object>> listed(Collection<TopicPartition> partitions) {
        return partitions.stream()
            .sorted(Comparator.comparing(TopicPartition::topic).thenComparing(TopicPartition::partition))
            .map(each -> List.<Object>of(each.topic(), each.partition())).toList();
    }

    private static List<List<Object>> offsets(Map<TopicPartition, OffsetAndMetadata> of) {
        List<List<Object>> found = new ArrayList<>();
        of.forEach((at, offset) -> {
            List<Object> each = new ArrayList<>(List.of(at.topic(), at.partition()));
            each.add(offset == null ? null : offset.offset());
            found.add(each);
        });
        return found;
    }

    @Override
    public void onPartitionsAssigned(Collection<TopicPartition> partitions) {
        emit("assigned", Map.of("partitions", listed(partitions)));
        held.addAll(partitions);
    }

    @Override
    public void onPartitionsRevoked(Collection<TopicPartition> partitions) {
        Map<TopicPartition, OffsetAndMetadata> due = new HashMap<>(positions);
        due.keySet().retainAll(partitions);
        if (settings.get("commit_on_revoke").asBoolean() && !due.isEmpty()) {
            try {
                consumer.commitSync(due);
                emit("committed", Map.of("offsets", offsets(due)));
            } catch (Exception error) {
                fail("commit on revoke", error);
            }
        }
        emit("revoked", Map.of("partitions", listed(partitions)));
        forget(partitions);
    }

    @Override
    public void onPartitionsLost(Collection<TopicPartition> partitions) {
        emit("lost", Map.of("partitions", listed(partitions)));
        forget(partitions);
    }

    private void forget(Collection<TopicPartition> partitions) {
        held.removeAll(partitions);
        positions.keySet().removeAll(partitions);
    }

    private void poll() throws InterruptedException {
        if (!subscribed) {
            Thread.sleep(20);
            return;
        }
        for (var each : consumer.poll(Duration.ofMillis(50))) {
            positions.put(new TopicPartition(each.topic(), each.partition()), new OffsetAndMetadata(each.offset() + 1));
            emit("record", Map.of(
                "partition", List.of(each.topic(), each.partition()), "offset", each.offset(), "value", each.value()));
        }
        List<List<Object>> owned = listed(held);
        List<List<Object>> theirs = listed(consumer.assignment());
        String now = consumer.groupMetadata() + " " + owned + " " + theirs;
        if (!now.equals(view)) {
            view = now;
            emit("view", Map.of("owned", owned, "library_owns", theirs));
        }
    }

    private void obey(JsonNode command) {
        switch (command.get("do").asText()) {
            case "subscribe" -> {
                List<String> topics = new ArrayList<>();
                command.get("topics").forEach(each -> topics.add(each.asText()));
                consumer.subscribe(topics, this);
                subscribed = true;
            }
            case "commit" -> {
                Map<TopicPartition, OffsetAndMetadata> all = new HashMap<>(positions);
                consumer.commitSync(all);
                emit("committed", Map.of("offsets", offsets(all)));
            }
            case "committed" -> {
                Set<TopicPartition> asked = new HashSet<>();
                command.get("partitions").forEach(each -> asked.add(new TopicPartition(each.get(0).asText(), each.get(1).asInt())));
                emit("fetched", Map.of("offsets", offsets(consumer.committed(asked))));
            }
            case "close" -> {
                open = false;
                consumer.close();
                emit("closed", Map.of());
            }
            default -> throw new IllegalArgumentException("it does not know " + command);
        }
    }

    public static void main(String[] arguments) throws Exception {
        LineConsumer one = new LineConsumer(JSON.readTree(arguments[0]));
        ConcurrentLinkedQueue<JsonNode> commands = new ConcurrentLinkedQueue<>();
        Thread reader = new Thread(() -> {
            try (var lines = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8))) {
                for (String line = lines.readLine(); line != null; line = lines.readLine()) {
                    commands.add(JSON.readTree(line));
                }
            } catch (Exception error) {
                error.printStackTrace();
            }
            Runtime.getRuntime().halt(1);
        });
        reader.setDaemon(true);
        reader.start();
        one.emit("started", Map.of());
        while (one.open) {
            JsonNode command = commands.poll();
            try {
                if (command != null) {
                    one.obey(command);
                } else {
                    one.poll();
                }
            } catch (Exception error) {
                one.fail(command == null ? "poll" : command.get("do").asText(), error);
            }
        }
    }
}
