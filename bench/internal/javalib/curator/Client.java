import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.ExponentialBackoffRetry;

/** A client of Curator, with the policy of its "Getting started", and its defaults otherwise. */
final class Client {
    private final CuratorFramework curator;

    Client(String address) throws InterruptedException {
        curator = CuratorFrameworkFactory.newClient(address, new ExponentialBackoffRetry(1000, 3));
        curator.start();
        curator.blockUntilConnected();
    }

    Handle handle(String kind, String name) {
        InterProcessMutex mutex = new InterProcessMutex(curator, "/curator/" + name);
        return new Handle() {
            @Override
            public boolean take(long nanos) throws Exception {
                return mutex.acquire(nanos, TimeUnit.NANOSECONDS);
            }

            @Override
            public void free() throws Exception {
                mutex.release();
            }
        };
    }

    void permits(String name, int number) {
        throw new UnsupportedOperationException();
    }
}
