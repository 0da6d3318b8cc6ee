import java.io.BufferedReader;
import java.io.InputStreamReader;
import org.apache.kafka.common.utils.internals.LogContext;
import org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroup;
import org.apache.kafka.coordinator.group.modern.consumer.ConsumerGroupMember;
import org.apache.kafka.timeline.SnapshotRegistry;

/**
 * Which assignor Kafka's own group prefers, for each line of standard input: the wishes of its members in the order in
 * which they come, - for none. Out: the assignor's name, or - if there is no wish.
 */
public class Wishes {
    public static void main(String[] arguments) throws Exception {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            LogContext log = new LogContext();
            ConsumerGroup group = new ConsumerGroup(log, new SnapshotRegistry(log), "g");
            String[] wishes = line.split(" ");
            for (int place = 0; place < wishes.length; place++) {
                String wish = wishes[place].equals("-") ? null : wishes[place];
                group.updateMember(new ConsumerGroupMember.Builder("m" + place).setServerAssignorName(wish).build());
            }
            System.out.println(group.preferredServerAssignor().orElse("-"));
        }
    }
}
