import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import org.redisson.Redisson;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/**
 * One Redisson client that locks one name over and over, as a process of bench/safety does, and tells in the same
 * lines what happens; see worker.go there, which this follows line by line. Its arguments are the kind of lock (lock
 * or fenced), the name, a seed, and the server's address, or the name of a primary and the addresses of its Sentinels. All settings of Redisson are its defaults.
 *
 * <p>Redisson tells a holder nothing of a loss, unless the server is set to send events of keys, which it is not by
 * default: only a question to the server would show it, or unlock(), which throws. So a holder stays until it is told to
 * leave.
 */
public final class Peer {
    private static final long TICK = 2; // milliseconds between two looks at the time
    private static final long STOPPED = TimeUnit.MILLISECONDS.toNanos(50); // the silence that counts as a stop

    private final PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    private final AtomicBoolean stay = new AtomicBoolean();
    private final AtomicBoolean pause = new AtomicBoolean();
    private final Random random;
    private final RLock lock;
    private final boolean fenced;

    private Peer(RLock lock, boolean fenced, long seed) {
        this.lock = lock;
        this.fenced = fenced;
        this.random = new Random(seed);
    }

    public static void main(String[] args) throws Exception {
        System.setProperty("org.slf4j.simpleLogger.defaultLogLevel", "off"); // each failed renewal is a stack trace
        try {
            RedissonClient client = Redisson.create(config(Arrays.copyOfRange(args, 3, args.length)));
            boolean fenced = args[0].equals("fenced");
            RLock lock = fenced ? client.getFencedLock(args[1]) : client.getLock(args[1]);
            Peer peer = new Peer(lock, fenced, Long.parseUnsignedLong(args[2]));
            Thread orders = new Thread(peer::obey);
            orders.setDaemon(true);
            orders.start();
            peer.roam();
        } catch (RuntimeException e) { // Redisson's threads would keep the program alive
            e.printStackTrace();
            System.exit(1);
        }
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

    private synchronized void tell(String word, long... figures) {
        StringBuilder line = new StringBuilder(word);
        for (long figure : figures) {
            line.append(' ').append(figure);
        }
        out.println(line);
    }

    private void obey() {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        try {
            for (String line; (line = in.readLine()) != null; ) {
                stay.set(line.equals("stay"));
                if (line.equals("pause")) {
                    pause.set(true);
                }
            }
        } catch (IOException e) {
            e.printStackTrace();
        }
        Runtime.getRuntime().halt(1); // nobody talks with this process any more
    }

    private void roam() throws InterruptedException {
        tell("clock", System.nanoTime()); // CLOCK_MONOTONIC, of all processes; the harness checks
        while (!pause.get()) {
            attempt();
            Thread.sleep(2 + random.nextInt(8));
        }
        tell("paused");
        Thread.currentThread().join();
    }

    private void attempt() throws InterruptedException {
        long called = System.nanoTime();
        tell("call", called);
        long token = 0;
        try {
            if (fenced) {
                token = ((RFencedLock) lock).lockAndGetToken();
            } else {
                lock.lock();
            }
        } catch (RuntimeException e) {
            tell("failed", System.nanoTime());
            Thread.sleep(50); // as after an error that may pass
            return;
        }
        long refused = 0;
        try {
            inside(called, token);
        } finally {
            try {
                lock.unlock();
            } catch (RuntimeException e) {
                refused = 1;
            }
        }
        tell("left", System.nanoTime(), refused);
    }

    private void inside(long called, long token) throws InterruptedException {
        long from = System.nanoTime();
        boolean staying = stay.get();
        tell("in", called, from, token, staying ? 1 : 0);
        long end = from + TimeUnit.MILLISECONDS.toNanos(random.nextInt(5));
        long stopped = 0;
        long resumed = 0;
        for (long last = from; ; ) {
            long now = System.nanoTime();
            if (now - last > STOPPED) {
                stopped += now - last;
                resumed = now;
            }
            last = now;
            if (staying ? !stay.get() : now >= end) {
                tell("out", now, 0, stopped, resumed);
                return;
            }
            Thread.sleep(TICK);
        }
    }
}
