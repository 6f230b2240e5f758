import java.util.concurrent.atomic.AtomicLong;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.state.ConnectionState;
import org.apache.curator.retry.ExponentialBackoffRetry;

/**
 * An InterProcessMutex of Curator's, whose kind is the time of the session in milliseconds. As its page recommends, a
 * ConnectionStateListener watches for SUSPENDED and LOST, and a holder takes both for the loss of its lock.
 */
final class PeerLock {
    private final AtomicLong losses = new AtomicLong();
    private final InterProcessMutex mutex;
    private long before; // losses when the lock was acquired

    PeerLock(String kind, String name, String[] where) throws InterruptedException {
        CuratorFramework client = CuratorFrameworkFactory.newClient(
                where[0], Integer.parseInt(kind), 15_000, new ExponentialBackoffRetry(1000, 3));
        client.getConnectionStateListenable().addListener((of, state) -> {
            if (state == ConnectionState.SUSPENDED || state == ConnectionState.LOST) {
                losses.incrementAndGet();
            }
        });
        client.start();
        client.blockUntilConnected();
        mutex = new InterProcessMutex(client, "/" + name);
    }

    /** Returns 0: the library has no number that grows with each hold. */
    long lock() throws Exception {
        mutex.acquire();
        before = losses.get();
        return 0;
    }

    boolean lost() {
        return losses.get() != before;
    }

    void unlock() throws Exception {
        mutex.release();
    }
}
