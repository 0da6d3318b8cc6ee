import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.lang.reflect.Proxy;
import java.util.ArrayList;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.common.message.ConsumerGroupHeartbeatRequestData.TopicPartitions;
import org.apache.kafka.coordinator.common.runtime.CoordinatorMetadataImage;
import org.apache.kafka.coordinator.group.modern.Assignment;
import org.apache.kafka.coordinator.group.modern.MemberState;
import org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroupMember;
import org.apache.kafka.coordinator.group.modern.consumer.CurrentAssignmentBuilder;

/**
 * What Kafka's own CurrentAssignmentBuilder makes of each line of standard input, a line each.
 *
 * A line: STATE EPOCH PREVIOUS TARGET_EPOCH CHANGED TOPICS ASSIGNED PENDING TARGET OWNED TAKEN, where TOPICS are
 * letters, partitions are such as t0 (with =EPOCH where they are assigned or pending), commas are between them, and
 * - stands for none of them, null for OWNED that says nothing. Out: STATE EPOCH PREVIOUS ASSIGNED PENDING.
 */
public class Reconciler {
    private static final Map<String, Uuid> IDS = new HashMap<>();

    public static void main(String[] arguments) throws Exception {
        CoordinatorMetadataImage image = image();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        BufferedWriter out = new BufferedWriter(new OutputStreamWriter(System.out));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.write(outcome(line.split(" "), image));
            out.write("\n");
        }
        out.flush();
    }

    private static String outcome(String[] said, CoordinatorMetadataImage image) {
        ConsumerGroupMember before = new ConsumerGroupMember.Builder("member")
            .setState(MemberState.valueOf(said[0]))
            .setMemberEpoch(Integer.parseInt(said[1]))
            .setPreviousMemberEpoch(Integer.parseInt(said[2]))
            .setSubscribedTopicNames(split(said[5]))
            .setAssignedPartitions(held(said[6]))
            .setPartitionsPendingRevocation(held(said[7]))
            .build();
        Set<String> taken = new HashSet<>(split(said[10]));
        ConsumerGroupMember after = new CurrentAssignmentBuilder(before)
            .withMetadataImage(image)
            .withTargetAssignment(Integer.parseInt(said[3]), new Assignment(plain(said[8])))
            .withHasSubscriptionChanged(said[4].equals("changed"))
            .withCurrentPartitionEpoch((topic, partition) -> taken.contains(name(topic) + partition) ? 1 : -1)
            .withOwnedTopicPartitions(said[9].equals("null") ? null : owned(said[9]))
            .build();
        return after.state() + " " + after.memberEpoch() + " " + after.previousMemberEpoch() + " "
            + told(after.assignedPartitions()) + " " + told(after.partitionsPendingRevocation());
    }

    private static List<String> split(String text) {
        return text.equals("-") ? List.of() : List.of(text.split(","));
    }

    private static Uuid id(String topic) {
        return IDS.computeIfAbsent(topic, name -> new Uuid(7, name.charAt(0)));
    }

    private static String name(Uuid id) {
        return String.valueOf((char) id.getLeastSignificantBits());
    }

    private static Map<Uuid, Map<Integer, Integer>> held(String text) {
        Map<Uuid, Map<Integer, Integer>> found = new HashMap<>();
        for (String one : split(text)) {
            String[] parts = one.substring(1).split("=");
            found.computeIfAbsent(id(one.substring(0, 1)), topic -> new HashMap<>())
                .put(Integer.parseInt(parts[0]), Integer.parseInt(parts[1]));
        }
        return found;
    }

    private static Map<Uuid, Set<Integer>> plain(String text) {
        Map<Uuid, Set<Integer>> found = new HashMap<>();
        for (String one : split(text)) {
            found.computeIfAbsent(id(one.substring(0, 1)), topic -> new HashSet<>())
                .add(Integer.parseInt(one.substring(1)));
        }
        return found;
    }

    private static List<TopicPartitions> owned(String text) {
        List<TopicPartitions> found = new ArrayList<>();
        plain(text).forEach((topic, partitions) ->
            found.add(new TopicPartitions().setTopicId(topic).setPartitions(new ArrayList<>(partitions))));
        return found;
    }

    private static String told(Map<Uuid, Map<Integer, Integer>> held) {
        TreeMap<String, Integer> found = new TreeMap<>();
        held.forEach((topic, partitions) ->
            partitions.forEach((partition, epoch) -> found.put(name(topic) + partition, epoch)));
        if (found.isEmpty()) {
            return "-";
        }
        List<String> words = new ArrayList<>();
        found.forEach((partition, epoch) -> words.add(partition + "=" + epoch));
        return String.join(",", words);
    }

    /** Topics of any one letter; nothing else of an image is asked for. */
    private static CoordinatorMetadataImage image() {
        Class<?>[] kinds = {CoordinatorMetadataImage.class};
        return (CoordinatorMetadataImage) Proxy.newProxyInstance(
            Reconciler.class.getClassLoader(), kinds, (proxy, method, values) -> switch (method.getName()) {
                case "topicMetadata" -> Optional.of(topic(values[0]));
                case "hashCode" -> 1;
                case "equals" -> proxy == values[0];
                default -> throw new UnsupportedOperationException(method.getName());
            });
    }

    private static CoordinatorMetadataImage.TopicMetadata topic(Object asked) {
        String name = asked instanceof Uuid ? name((Uuid) asked) : (String) asked;
        Class<?>[] kinds = {CoordinatorMetadataImage.TopicMetadata.class};
        return (CoordinatorMetadataImage.TopicMetadata) Proxy.newProxyInstance(
            Reconciler.class.getClassLoader(), kinds, (proxy, method, values) -> switch (method.getName()) {
                case "name" -> name;
                case "id" -> id(name);
                default -> throw new UnsupportedOperationException(method.getName());
            });
    }
}
