import java.io.BufferedReader;
import java.io.BufferedWriter;
import java.io.InputStreamReader;
import java.io.OutputStreamWriter;
import java.util.HashMap;
import java.util.HashSet;
import java.util.LinkedHashMap;
import java.util.List;
import java.util.Map;
import java.util.Optional;
import java.util.Set;
import java.util.TreeMap;
import java.util.TreeSet;
import org.apache.kafka.common.Uuid;
import org.apache.kafka.coordinator.group.api.assignor.ConsumerGroupPartitionAssignor;
import org.apache.kafka.coordinator.group.api.assignor.MemberAssignment;
import org.apache.kafka.coordinator.group.api.assignor.SubscribedTopicDescriber;
import org.apache.kafka.coordinator.group.api.assignor.SubscriptionType;
import org.apache.kafka.coordinator.group.assignor.RangeAssignor;
import org.apache.kafka.coordinator.group.assignor.UniformAssignor;
import org.apache.kafka.coordinator.group.modern.Assignment;
import org.apache.kafka.coordinator.group.modern.GroupSpecImpl;
import org.apache.kafka.coordinator.group.modern.MemberSubscriptionAndAssignmentImpl;

/**
 * What Kafka's own assignors make of each line of standard input, a line each.
 *
 * A line: ASSIGNOR TYPE TOPICS MEMBER…, where TOPICS are such as t3 (a letter and how many partitions), a member is
 * NAME:TOPICS:TARGET with letters and partitions such as t0, commas between them and - for none, in the order in
 * which the assignor is to go through them. Out: the topics in the order of their hashes, then NAME:PARTITIONS each.
 */
public class Assigner {
    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        BufferedWriter out = new BufferedWriter(new OutputStreamWriter(System.out));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            out.write(outcome(line.split(" ")));
            out.write("\n");
        }
        out.flush();
    }

    private static String outcome(String[] said) throws Exception {
        ConsumerGroupPartitionAssignor assignor = said[0].equals("range") ? new RangeAssignor() : new UniformAssignor();
        Map<Uuid, Integer> sizes = new HashMap<>();
        for (String one : split(said[2])) {
            sizes.put(id(one), Integer.parseInt(one.substring(1)));
        }
        Map<String, MemberSubscriptionAndAssignmentImpl> members = new LinkedHashMap<>();
        Map<Uuid, Map<Integer, String>> owners = new HashMap<>();
        for (int place = 3; place < said.length; place++) {
            String[] parts = said[place].split(":");
            Set<Uuid> topics = new HashSet<>();
            for (String one : split(parts[1])) {
                topics.add(id(one));
            }
            Map<Uuid, Set<Integer>> target = new HashMap<>();
            for (String one : split(parts[2])) {
                int partition = Integer.parseInt(one.substring(1));
                target.computeIfAbsent(id(one), topic -> new HashSet<>()).add(partition);
                owners.computeIfAbsent(id(one), topic -> new HashMap<>()).put(partition, parts[0]);
            }
            members.put(parts[0], new MemberSubscriptionAndAssignmentImpl(
                Optional.empty(), Optional.empty(), topics, new Assignment(target)));
        }
        Map<String, MemberAssignment> given = assignor.assign(
            new GroupSpecImpl(members, SubscriptionType.valueOf(said[1]), owners), described(sizes)).members();
        StringBuilder told = new StringBuilder();
        for (Uuid topic : new HashSet<>(sizes.keySet())) {
            told.append(name(topic));
        }
        for (Map.Entry<String, MemberAssignment> one : new TreeMap<>(given).entrySet()) {
            told.append(" ").append(one.getKey()).append(":").append(told(one.getValue().partitions()));
        }
        return told.toString();
    }

    private static SubscribedTopicDescriber described(Map<Uuid, Integer> sizes) {
        return new SubscribedTopicDescriber() {
            @Override
            public int numPartitions(Uuid topic) {
                return sizes.getOrDefault(topic, -1);
            }

            @Override
            public Set<String> racksForPartition(Uuid topic, int partition) {
                return Set.of();
            }
        };
    }

    private static List<String> split(String text) {
        return text.equals("-") ? List.of() : List.of(text.split(","));
    }

    private static Uuid id(String text) {
        return new Uuid(7, text.charAt(0));
    }

    private static String name(Uuid id) {
        return String.valueOf((char) id.getLeastSignificantBits());
    }

    private static String told(Map<Uuid, Set<Integer>> partitions) {
        TreeSet<String> all = new TreeSet<>();
        partitions.forEach((topic, each) -> each.forEach(one -> all.add(name(topic) + one)));
        return all.isEmpty() ? "-" : String.join(",", all);
    }
}
