import java.util.Arrays;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/** A client of Redisson. All its settings are its defaults. */
final class Client {
    private final RedissonClient redisson;

    Client(String address) {
        Config config = new Config();
        config.useSingleServer().setAddress("redis://" + address);
        redisson = Redisson.create(config);
    }

    Handle handle(String kind, String name) {
        switch (kind) {
            case "lock":
                return of(redisson.getLock(name));
            case "fair":
                return of(redisson.getFairLock(name));
            case "read":
                return of(redisson.getReadWriteLock(name).readLock());
            case "write":
                return of(redisson.getReadWriteLock(name).writeLock());
            case "multi":
                return of(redisson.getMultiLock(
                        Arrays.stream(name.split(",")).map(redisson::getLock).toArray(RLock[]::new)));
            case "permit":
                return of(redisson.getPermitExpirableSemaphore(name));
            default:
                throw new IllegalArgumentException("unknown kind: " + kind);
        }
    }

    void permits(String name, int number) {
        redisson.getPermitExpirableSemaphore(name).setPermits(number);
    }

    private static Handle of(RLock lock) {
        return new Handle() {
            @Override
            public boolean take(long nanos) throws Exception {
                // With a limit, as nobody has to be interrupted then. It asks, waits and renews as lock() does.
                return nanos > 0 ? lock.tryLock(nanos, TimeUnit.NANOSECONDS) : lock.tryLock();
            }

            @Override
            public void free() {
                lock.unlock();
            }
        };
    }

    private static Handle of(RPermitExpirableSemaphore semaphore) {
        return new Handle() {
            private String permit;

            @Override
            public boolean take(long nanos) throws Exception {
                permit = nanos > 0 ? semaphore.tryAcquire(nanos, -1, TimeUnit.NANOSECONDS) : semaphore.tryAcquire();
                return permit != null;
            }

            @Override
            public void free() {
                semaphore.release(permit);
            }
        };
    }
}
