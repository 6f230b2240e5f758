import java.time.Duration;
import java.util.Arrays;
import java.util.List;
import java.util.concurrent.TimeUnit;
import org.redisson.api.RCountDownLatch;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RScoredSortedSet;
import org.redisson.api.RSemaphore;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.StringCodec;

/** What the program does with semaphores and latches. An operation's name begins with what it is about. */
final class Permits {
    private Permits() {
    }

    /** Whether the operation is one of these. */
    static boolean knows(String operation) {
        return operation.startsWith("count.") || operation.startsWith("permit.") || operation.startsWith("latch.");
    }

    static Object carryOut(RedissonClient redisson, String operation, String[] args) throws Exception {
        if (operation.startsWith("count.")) {
            return count(redisson.getSemaphore(args[0]), operation, args);
        }
        if (operation.startsWith("latch.")) {
            return latch(redisson.getCountDownLatch(args[0]), operation, args);
        }
        return permit(redisson, redisson.getPermitExpirableSemaphore(args[0]), operation, args);
    }

    private static Object count(RSemaphore semaphore, String operation, String[] args) throws Exception {
        int n = args.length > 1 ? Integer.parseInt(args[1]) : 0;
        switch (operation) {
            case "count.set":
                return semaphore.trySetPermits(n);
            case "count.acquire":
                semaphore.acquire(n);
                return "";
            case "count.try":
                return semaphore.tryAcquire(n);
            case "count.release":
                semaphore.release(n);
                return "";
            case "count.add":
                semaphore.addPermits(n);
                return "";
            case "count.delete":
                return semaphore.delete();
            case "count.drain":
                return semaphore.drainPermits();
            case "count.available":
                return semaphore.availablePermits();
            default:
                throw new IllegalArgumentException("unknown operation: " + operation);
        }
    }

    private static Object latch(RCountDownLatch latch, String operation, String[] args) throws Exception {
        switch (operation) {
            case "latch.set":
                return latch.trySetCount(Long.parseLong(args[1]));
            case "latch.down":
                latch.countDown();
                return "";
            case "latch.count":
                return latch.getCount();
            case "latch.await":
                latch.await();
                return "";
            case "latch.delete":
                return latch.delete();
            default:
                throw new IllegalArgumentException("unknown operation: " + operation);
        }
    }

    /** Leases are in milliseconds. Permits are their ids, with commas between them. */
    private static Object permit(RedissonClient redisson, RPermitExpirableSemaphore semaphore, String operation,
            String[] args) throws Exception {
        switch (operation) {
            case "permit.set":
                semaphore.setPermits(Integer.parseInt(args[1]));
                return "";
            case "permit.begin":
                return semaphore.trySetPermits(Integer.parseInt(args[1]));
            case "permit.add":
                semaphore.addPermits(Integer.parseInt(args[1]));
                return "";
            case "permit.delete":
                return semaphore.delete();
            case "permit.acquire":
                return join(semaphore.acquire(Integer.parseInt(args[1]), Long.parseLong(args[2]), TimeUnit.MILLISECONDS));
            case "permit.forever":
                return semaphore.acquire();
            case "permit.try":
                return join(semaphore.tryAcquire(Integer.parseInt(args[1]), 0, Long.parseLong(args[2]),
                        TimeUnit.MILLISECONDS));
            case "permit.release":
                semaphore.release(Arrays.asList(args[1].split(",")));
                return "";
            case "permit.extend":
                return semaphore.updateLeaseTime(args[1], Long.parseLong(args[2]), TimeUnit.MILLISECONDS);
            case "permit.available":
                return semaphore.availablePermits();
            case "permit.acquired":
                return semaphore.acquiredPermits();
            case "permit.all":
                return semaphore.getPermits();
            case "permit.hammer":
                return hammer(redisson, semaphore, args);
            default:
                throw new IllegalArgumentException("unknown operation: " + operation);
        }
    }

    private static String join(List<String> ids) {
        return String.join(",", ids);
    }

    /**
     * Acquires and releases one permit for some milliseconds, and until it was in so many times. A caller that is
     * inside is in a set, which must never have more members than there are permits.
     */
    private static String hammer(RedissonClient redisson, RPermitExpirableSemaphore semaphore, String[] args)
            throws Exception {
        RScoredSortedSet<String> inside = redisson.getScoredSortedSet(args[1], StringCodec.INSTANCE);
        String me = args[2];
        long least = Long.parseLong(args[4]);
        int capacity = Integer.parseInt(args[5]);
        long end = System.nanoTime() + Duration.ofMillis(Long.parseLong(args[3])).toNanos();
        long entries = 0;
        long overlaps = 0;
        while (System.nanoTime() < end || entries < least) {
            String permit = semaphore.acquire(Long.parseLong(args[6]), TimeUnit.MILLISECONDS);
            inside.add(0, me);
            Thread.sleep(2);
            if (inside.size() > capacity) {
                overlaps++;
            }
            inside.remove(me);
            entries++;
            semaphore.release(permit);
        }
        return entries + " " + overlaps;
    }
}
