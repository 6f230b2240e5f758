import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.net.URLDecoder;
import java.net.URLEncoder;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicReference;
import org.redisson.Redisson;
import org.redisson.api.RBucket;
import org.redisson.api.RedissonClient;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.client.codec.LongCodec;
import org.redisson.client.codec.StringCodec;
import org.redisson.config.Config;
import org.redisson.config.NameMapper;

/**
 * One Redisson client that does what it is told on standard input, a line a command:
 *
 * <pre>id thread operation arguments...</pre>
 *
 * Each thread label is a Java thread of its own, which works its commands off one after another. The
 * answer is a line on standard output, when the command is done: {@code id ok value} or
 * {@code id error exception: message}. Words are percent-encoded. The program ends with its input.
 *
 * <p>Its arguments are key=value: address (host:port, comma-separated), mode (single or cluster),
 * watchdog (milliseconds) and prefix (which a NameMapper puts before every name).
 */
public final class Contender {
    private final RedissonClient redisson;
    private final PrintStream out;
    private final Map<String, Worker> workers = new ConcurrentHashMap<>();

    /** A labelled thread. */
    private static final class Worker {
        final AtomicReference<Thread> thread = new AtomicReference<>();
        final ExecutorService queue = Executors.newSingleThreadExecutor(task -> {
            Thread t = new Thread(task);
            t.setDaemon(true);
            thread.set(t);
            return t;
        });
    }

    private Contender(RedissonClient redisson, PrintStream out) {
        this.redisson = redisson;
        this.out = out;
    }

    public static void main(String[] args) throws IOException {
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        Contender contender = new Contender(Redisson.create(config(args)), out);
        out.println("ready " + contender.redisson.getId());
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = in.readLine()) != null && !line.equals("exit"); ) {
            contender.take(line.split(" "));
        }
        System.exit(0); // like a process that ends: nothing is unlocked
    }

    private static Config config(String[] args) {
        Map<String, String> given = new ConcurrentHashMap<>();
        for (String arg : args) {
            String[] pair = arg.split("=", 2);
            given.put(pair[0], decode(pair[1]));
        }
        Config config = new Config();
        config.setLockWatchdogTimeout(Long.parseLong(given.get("watchdog")));
        String prefix = given.getOrDefault("prefix", "");
        if (!prefix.isEmpty()) {
            config.setNameMapper(new NameMapper() {
                @Override
                public String map(String name) {
                    return prefix + name;
                }

                @Override
                public String unmap(String name) {
                    return name.substring(prefix.length());
                }
            });
        }
        String[] addresses = Arrays.stream(given.get("address").split(","))
                .map(a -> "redis://" + a).toArray(String[]::new);
        if (given.get("mode").equals("cluster")) {
            config.useClusterServers().setMasterConnectionMinimumIdleSize(2)
                    .setTimeout(20_000).addNodeAddress(addresses);
        } else {
            config.useSingleServer().setConnectionMinimumIdleSize(2).setTimeout(20_000).setAddress(addresses[0]);
        }
        return config;
    }

    private void take(String[] words) {
        Worker worker = workers.computeIfAbsent(words[1], label -> new Worker());
        if (words[2].equals("parked")) { // asked about the thread, not of it
            answer(words[0], () -> parked(worker.thread.get()));
            return;
        }
        String[] args = Arrays.stream(words).skip(3).map(Contender::decode).toArray(String[]::new);
        worker.queue.execute(() -> answer(words[0], () -> carryOut(words[2], args)));
    }

    private interface Operation {
        Object run() throws Exception;
    }

    private void answer(String id, Operation operation) {
        String answer;
        try {
            answer = "ok " + encode(String.valueOf(operation.run()));
        } catch (Exception e) {
            answer = "error " + encode(e.getClass().getName() + ": " + e.getMessage());
        }
        out.println(id + " " + answer);
    }

    /** Whether the thread sleeps on the semaphore or gate that Redisson opens when a message arrives. */
    private static boolean parked(Thread thread) {
        return thread != null && Arrays.stream(thread.getStackTrace())
                .anyMatch(frame -> frame.getClassName().equals("java.util.concurrent.Semaphore")
                        || frame.getClassName().equals("org.redisson.misc.ReclosableLatch"));
    }

    private Object carryOut(String operation, String[] args) throws Exception {
        if (Permits.knows(operation)) {
            return Permits.carryOut(redisson, operation, args);
        }
        if (operation.startsWith("rw.")) {
            return ReadWrite.carryOut(redisson, operation.substring(3), args);
        }
        boolean fair = operation.startsWith("fair.");
        RLock lock = fair ? redisson.getFairLock(args[0]) : redisson.getLock(args[0]);
        RFencedLock fenced = redisson.getFencedLock(args[0]);
        switch (fair ? operation.substring(5) : operation) {
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
            case "mine":
                return lock.isHeldByCurrentThread();
            case "locked":
                return lock.isLocked();
            case "ttl":
                return lock.remainTimeToLive();
            case "fencedlock":
                return fenced.lockAndGetToken();
            case "fencedwait": // waits by another path than fencedlock: in this thread
                fenced.lock();
                return fenced.getToken();
            case "fencedunlock":
                fenced.unlock();
                return "";
            case "token":
                return fenced.getToken();
            case "owner":
                return redisson.getId() + ":" + Thread.currentThread().getId();
            case "hammer":
                return hammer(lock, args[1], args[2], Long.parseLong(args[3]), Long.parseLong(args[4]));
            case "share":
                return share(lock, Long.parseLong(args[1]), Long.parseLong(args[2]));
            default:
                throw new IllegalArgumentException("unknown operation: " + operation);
        }
    }

    /** Locks, works for some milliseconds and unlocks, again and again for a while; tells its turns and its longest wait. */
    private static String share(RLock lock, long work, long millis) throws Exception {
        long turns = 0;
        long longest = 0;
        long end = System.nanoTime() + millis * 1_000_000;
        for (long start; (start = System.nanoTime()) < end; turns++) {
            lock.lock();
            try {
                longest = Math.max(longest, System.nanoTime() - start);
                Thread.sleep(work);
            } finally {
                lock.unlock();
            }
        }
        return turns + " " + longest / 1_000_000;
    }

    /**
     * Locks and unlocks for some milliseconds, and until it was in so many times. Inside, two things fail if anybody else is in the same place:
     * a key that has to keep the name that was put there, and a counter that is read and written in two
     * steps, which loses counts.
     */
    private String hammer(RLock lock, String place, String me, long millis, long least) throws Exception {
        RBucket<String> inside = redisson.getBucket(place + ":inside", StringCodec.INSTANCE);
        RBucket<Long> counter = redisson.getBucket(place + ":counter", LongCodec.INSTANCE);
        long entries = 0;
        long overlaps = 0;
        long end = System.nanoTime() + millis * 1_000_000;
        while (System.nanoTime() < end || entries < least) {
            lock.lock();
            try {
                inside.set(me);
                Long count = counter.get();
                Thread.sleep(1);
                counter.set(count == null ? 1 : count + 1);
                if (!me.equals(inside.get())) {
                    overlaps++;
                }
                entries++;
            } finally {
                lock.unlock();
            }
        }
        return entries + " " + overlaps;
    }

    private static String decode(String word) {
        return URLDecoder.decode(word, StandardCharsets.UTF_8);
    }

    private static String encode(String word) {
        return URLEncoder.encode(word, StandardCharsets.UTF_8);
    }
}
