import java.util.Arrays;
import org.redisson.Redisson;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/**
 * A lock of Redisson's, of the kind lock or fenced, on the server at an address, or behind the Sentinels at others, which
 * follow the name of the primary. All settings of Redisson are its defaults.
 *
 * <p>Redisson tells a holder nothing of a loss, unless the server is set to send events of keys, which it is not by
 * default: only a question to the server would show it, or unlock(), which throws. So a holder stays until it is told to
 * leave.
 */
final class PeerLock {
    private final RLock lock;
    private final boolean fenced;

    PeerLock(String kind, String name, String[] where) {
        RedissonClient client = Redisson.create(config(where));
        fenced = kind.equals("fenced");
        lock = fenced ? client.getFencedLock(name) : client.getLock(name);
    }

    private static Config config(String[] where) {
        Config config = new Config();
        if (where.length == 1) {
            config.useSingleServer().setAddress("redis://" + where[0]);
            return config;
        }
        String[] sentinels = Arrays.stream(where).skip(1).map(addr -> "redis://" + addr).toArray(String[]::new);
        config.useSentinelServers().setMasterName(where[0]).addSentinelAddress(sentinels);
        return config;
    }

    /** Returns a number that grows with each hold; 0 if the kind has none. */
    long lock() {
        if (fenced) {
            return ((RFencedLock) lock).lockAndGetToken();
        }
        lock.lock();
        return 0;
    }

    boolean lost() {
        return false;
    }

    void unlock() {
        lock.unlock();
    }
}
