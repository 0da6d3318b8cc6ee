import java.io.BufferedReader;
import java.io.InputStreamReader;
import java.nio.ByteBuffer;
import java.util.Base64;
import org.apache.kafka.coordinator.common.runtime.CoordinatorRecord;
import org.apache.kafka.coordinator.group.GroupCoordinatorRecordSerde;
import org.apache.kafka.coordinator.group.generated.CoordinatorRecordJsonConverters;

/**
 * What Kafka's own coordinator reads of records of the offsets topic: each line of standard input is the key of one
 * and its value in Base64, - for none; each line that comes out, the type of the key, the key and the value as JSON.
 */
public class StoredRecords {
    public static void main(String[] arguments) throws Exception {
        GroupCoordinatorRecordSerde serde = new GroupCoordinatorRecordSerde();
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in));
        for (String line = in.readLine(); line != null; line = in.readLine()) {
            String[] said = line.split(" ");
            CoordinatorRecord record = serde.deserialize(bytes(said[0]), bytes(said[1]));
            String key = CoordinatorRecordJsonConverters.writeRecordKeyAsJson(record.key()).toString();
            String value = record.value() == null ? "null" : CoordinatorRecordJsonConverters
                .writeRecordValueAsJson(record.value().message(), record.value().version()).toString();
            System.out.println(record.key().apiKey() + "\t" + key + "\t" + value);
        }
    }

    private static ByteBuffer bytes(String text) {
        return text.equals("-") ? null : ByteBuffer.wrap(Base64.getDecoder().decode(text));
    }
}
