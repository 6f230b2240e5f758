import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.redisson.api.RBucket;
import org.redisson.api.RLock;
import org.redisson.api.RReadWriteLock;
import org.redisson.api.RedissonClient;
import org.redisson.client.codec.LongCodec;
import org.redisson.client.codec.StringCodec;

/** The operations on a read-write lock: side, a dot, and what to do with it. */
final class ReadWrite {
    private ReadWrite() {
    }

    static Object carryOut(RedissonClient redisson, String operation, String[] args) throws Exception {
        RReadWriteLock both = redisson.getReadWriteLock(args[0]);
        if (operation.equals("hammer")) {
            return hammer(redisson, both, args[1], args[2], Long.parseLong(args[3]), Long.parseLong(args[4]));
        }
        RLock lock = operation.startsWith("read.") ? both.readLock() : both.writeLock();
        switch (operation.substring(operation.indexOf('.') + 1)) {
            case "lock":
                lock.lock();
                return "";
            case "lease":
                lock.lock(Long.parseLong(args[1]), TimeUnit.MILLISECONDS);
                return "";
            case "try":
                return lock.tryLock(Long.parseLong(args[1]), TimeUnit.MILLISECONDS);
            case "unlock":
                lock.unlock();
                return "";
            case "forceunlock":
                return lock.forceUnlock();
            case "count":
                return lock.getHoldCount();
            case "locked":
                return lock.isLocked();
            case "ttl":
                return lock.remainTimeToLive();
            default:
                throw new IllegalArgumentException("unknown operation: rw." + operation);
        }
    }

    /**
     * Reads three times for each write, for some milliseconds, and until it was in so often on each side. A
     * writer puts its name and counts in two steps, and finds its name there at the end; a reader finds the
     * same name and count at both ends. A name that a writer left behind which was killed disturbs nobody.
     * Between rounds it leaves a gap: readers of Redisson's that leave none keep every writer out for ever.
     */
    private static String hammer(RedissonClient redisson, RReadWriteLock both, String place, String me,
            long millis, long least) throws Exception {
        RBucket<String> inside = redisson.getBucket(place + ":inside", StringCodec.INSTANCE);
        RBucket<Long> counter = redisson.getBucket(place + ":counter", LongCodec.INSTANCE);
        long writes = 0;
        long reads = 0;
        long overlaps = 0;
        long end = System.nanoTime() + millis * 1_000_000;
        for (int round = 0; System.nanoTime() < end || writes < least || reads < least; round++) {
            Thread.sleep(ThreadLocalRandom.current().nextInt(5, 25));
            boolean write = round % 4 == 0;
            RLock lock = write ? both.writeLock() : both.readLock();
            lock.lock();
            try {
                if (write) {
                    inside.set(me + ":" + round);
                }
                String who = inside.get();
                Long count = counter.get();
                Thread.sleep(1);
                boolean same = who == null ? inside.get() == null : who.equals(inside.get());
                Long now = counter.get();
                same &= count == null ? now == null : count.equals(now);
                if (write) {
                    same &= who != null && who.equals(me + ":" + round);
                    counter.set(count == null ? 1 : count + 1);
                    writes++;
                } else {
                    reads++;
                }
                if (!same) {
                    overlaps++;
                }
            } finally {
                lock.unlock();
            }
        }
        return writes + " " + reads + " " + overlaps;
    }
}
