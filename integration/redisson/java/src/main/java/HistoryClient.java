import java.io.BufferedReader;
import java.io.FileDescriptor;
import java.io.FileOutputStream;
import java.io.IOException;
import java.io.InputStreamReader;
import java.nio.charset.StandardCharsets;
import java.time.Duration;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.List;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import org.redisson.Redisson;
import org.redisson.api.RFencedLock;
import org.redisson.api.RLock;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RedissonClient;
import org.redisson.client.RedisException;
import org.redisson.config.BaseConfig;
import org.redisson.config.Config;
import org.redisson.config.ConstantDelay;

/**
 * A client process of integration/history that locks by Redisson: it follows the same orders, and reports in the same
 * lines (client.go and wire.go there). Its arguments are the site (single, cluster or sentinel), the address, the
 * number of threads, a seed, and the lease in milliseconds.
 *
 * <p>Redisson does not tell a holder that its lock was lost. So each hold here has a lease that is not renewed, and its
 * holder leaves when that lease, counted from before the call, is over. And Redisson names a hold by its client and
 * thread alone: a release that arrives late would free a later hold of the same thread. So each hold has a thread of
 * its own.
 */
public final class HistoryClient {
    private static final long TICK = 3; // milliseconds between two looks at the time, as in worker.go
    private static final long STALLED = TimeUnit.MILLISECONDS.toNanos(TICK + 20); // as in stay.go

    private static final long PATIENCE = 10; // seconds
    private static final long NO_TOKEN = -1; // as in checker.go

    private static final String[] NAMES = {"history-a", "history-b", "history-c", "history-d", "history-e"};
    private static final String READ_WRITE = "history-rw";
    private static final String PERMITS = "history-permits";

    private final FileOutputStream out = new FileOutputStream(FileDescriptor.out);
    private final RedissonClient redisson;
    private final long lease; // milliseconds
    private final int threads;
    private final long seed;
    private final List<Thread> running = new ArrayList<>();
    private volatile boolean paused;

    private HistoryClient(RedissonClient redisson, int threads, long seed, long lease) {
        this.redisson = redisson;
        this.threads = threads;
        this.seed = seed;
        this.lease = lease;
    }

    public static void main(String[] args) throws Exception {
        System.setProperty("org.slf4j.simpleLogger.defaultLogLevel", "off"); // each failed request is a stack trace
        try {
            long lease = Long.parseLong(args[4]);
            new HistoryClient(connect(config(args[0], args[1].split(","), (int) lease)), Integer.parseInt(args[2]),
                    Long.parseUnsignedLong(args[3]), lease).obey();
        } catch (RuntimeException e) { // Redisson's threads would keep the program alive
            e.printStackTrace();
            System.exit(1);
        }
        System.exit(0);
    }

    /** Redisson makes no client while a server does not answer, as it may not in a history. */
    private static RedissonClient connect(Config config) throws InterruptedException {
        long patience = System.nanoTime() + TimeUnit.SECONDS.toNanos(PATIENCE);
        for (;;) {
            try {
                return Redisson.create(config);
            } catch (RedisException e) {
                if (System.nanoTime() > patience) {
                    throw e;
                }
                Thread.sleep(100);
            }
        }
    }

    /** The limits of a request are shorter than Redisson's own, as ours are in a history. */
    private static Config config(String site, String[] addresses, int lease) {
        Config config = new Config();
        switch (site) {
            case "single":
                limits(config.useSingleServer().setAddress("redis://" + addresses[0]).setConnectionMinimumIdleSize(4)
                        .setConnectionPoolSize(16), lease);
                return config;
            case "cluster":
                limits(config.useClusterServers().addNodeAddress(urls(addresses, 0))
                        .setMasterConnectionMinimumIdleSize(2).setScanInterval(1000), lease);
                return config;
            case "sentinel":
                limits(config.useSentinelServers().setMasterName(addresses[0]).addSentinelAddress(urls(addresses, 1))
                        .setMasterConnectionMinimumIdleSize(4), lease);
                return config;
            default:
                throw new IllegalArgumentException("unknown site: " + site);
        }
    }

    private static void limits(BaseConfig<?> config, int lease) {
        config.setTimeout(lease / 3).setRetryAttempts(1).setRetryDelay(new ConstantDelay(Duration.ofMillis(lease / 9)));
    }

    private static String[] urls(String[] addresses, int from) {
        return Arrays.stream(addresses).skip(from).map(address -> "redis://" + address).toArray(String[]::new);
    }

    /** Follows orders until it is told to close. */
    private void obey() throws IOException, InterruptedException {
        tell("clock", System.nanoTime());
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = in.readLine()) != null; ) {
            String[] words = line.split(" ");
            switch (words[0]) {
                case "roam":
                    start(Worker::roam, Integer.MAX_VALUE);
                    break;
                case "live":
                    start(Worker::live, Integer.parseInt(words[1]));
                    join();
                    break;
                case "pause":
                    paused = true;
                    join();
                    break;
                case "close":
                    redisson.shutdown();
                    tell("left", 0, "of Redisson's threads nothing is asked");
                    return;
                default:
                    throw new IOException("unknown order: " + line);
            }
        }
        Runtime.getRuntime().halt(1); // nobody talks with this process any more
    }

    private interface Turn {
        void of(Worker worker) throws InterruptedException;
    }

    private void start(Turn turn, int times) {
        paused = false;
        running.clear();
        for (int i = 0; i < threads; i++) {
            Worker worker = new Worker(i);
            Thread thread = new Thread(() -> {
                try {
                    for (int n = 0; n < times && !paused; n++) {
                        turn.of(worker);
                    }
                } catch (InterruptedException | RuntimeException e) {
                    tell("bad", worker.number, oneWord(e));
                }
            });
            running.add(thread);
            thread.start();
        }
    }

    /** Waits until no thread is in a call. */
    private void join() throws InterruptedException {
        for (Thread thread : running) {
            thread.join();
        }
        tell("paused", 0); // of Redisson's memory nothing is asked
    }

    /** Writes a line in one piece, so that a killed process leaves no partial line. */
    private void tell(Object... words) {
        StringBuilder line = new StringBuilder();
        for (Object word : words) {
            line.append(line.length() == 0 ? "" : " ").append(word);
        }
        try {
            synchronized (out) {
                out.write(line.append('\n').toString().getBytes(StandardCharsets.UTF_8));
            }
        } catch (IOException e) {
            Runtime.getRuntime().halt(1); // nobody reads any more
        }
    }

    private static String oneWord(Exception e) {
        return e.toString().replaceAll("\\s+", "_");
    }

    /** Something that one holder takes. */
    private abstract static class Handle {
        final String name;
        final String mode; // as in checker.go; "-": it excludes all others
        String id; // of what take took, beside the client's
        long token = NO_TOKEN;

        Handle(String name, String mode) {
            this.name = name;
            this.mode = mode;
        }

        abstract boolean take(long wait, long lease) throws InterruptedException;

        abstract void release();
    }

    private Handle fenced(String name) {
        RFencedLock lock = redisson.getFencedLock(name);
        return new Handle(name, "-") {
            @Override
            boolean take(long wait, long lease) {
                Long got = lock.tryLockAndGetToken(wait, lease, TimeUnit.MILLISECONDS);
                id = String.valueOf(Thread.currentThread().getId());
                token = got == null ? NO_TOKEN : got;
                return got != null;
            }

            @Override
            void release() {
                lock.unlock();
            }
        };
    }

    private Handle side(RLock lock, String mode) {
        return new Handle(READ_WRITE, mode) {
            @Override
            boolean take(long wait, long lease) throws InterruptedException {
                id = String.valueOf(Thread.currentThread().getId());
                return lock.tryLock(wait, lease, TimeUnit.MILLISECONDS);
            }

            @Override
            void release() {
                lock.unlock();
            }
        };
    }

    private Handle permit() {
        RPermitExpirableSemaphore semaphore = redisson.getPermitExpirableSemaphore(PERMITS);
        return new Handle(PERMITS, "permit") {
            @Override
            boolean take(long wait, long lease) throws InterruptedException {
                id = semaphore.tryAcquire(wait, lease, TimeUnit.MILLISECONDS);
                return id != null;
            }

            @Override
            void release() {
                semaphore.release(id);
            }
        };
    }

    private final class Worker {
        private final int number;
        private final Random random;

        Worker(int number) {
            this.number = number;
            this.random = new Random(seed + number);
        }

        /** Takes something that may be refused, as any call of it may fail. */
        void roam() throws InterruptedException {
            Handle handle = any();
            String op = "java-" + (handle.mode.equals("-") ? "lock" : handle.mode);
            long wait = lease / 2;
            if (random.nextInt(4) == 0) {
                op = "java-try";
                wait = 0;
            }
            long span = TimeUnit.MICROSECONDS.toNanos(random.nextInt(100) < 15 ? random.nextInt(8000)
                    : random.nextInt(500));
            if (random.nextInt(200) == 0) { // until its lease ends
                span = TimeUnit.MILLISECONDS.toNanos(lease);
            }
            String outcome = new Visit(this, handle, op, span, System.nanoTime()).make(wait);
            if (outcome.equals("unavailable")) {
                Thread.sleep(10); // as after an error that may pass
            }
        }

        /**
         * Takes something, which must succeed in the end, as no fault is left. A refusal is none, as locks are wanted by
         * many; and Redisson may take seconds to find servers again that had stood still or moved.
         */
        void live() throws InterruptedException {
            Handle handle = any();
            long since = System.nanoTime();
            while (!new Visit(this, handle, "live", random.nextInt(2_000_000), since).make(lease / 2).equals("ok")) {
                if (System.nanoTime() - since > TimeUnit.SECONDS.toNanos(PATIENCE)) {
                    throw new IllegalStateException("nothing was got within " + PATIENCE + " s after the faults");
                }
            }
        }

        private Handle any() {
            switch (random.nextInt(8)) {
                case 0:
                    return side(redisson.getReadWriteLock(READ_WRITE).readLock(), "read");
                case 1:
                    return side(redisson.getReadWriteLock(READ_WRITE).writeLock(), "-");
                case 2:
                    return permit();
                default:
                    return fenced(NAMES[random.nextInt(NAMES.length)]);
            }
        }
    }

    /** One call, and what follows from it, by a thread of its own. */
    private final class Visit implements Runnable {
        private final Worker worker;
        private final Handle handle;
        private final String op;
        private final long span;
        private final long since; // when the first of several calls was made that are reported as one
        private long wait;
        private String outcome;

        Visit(Worker worker, Handle handle, String op, long span, long since) {
            this.worker = worker;
            this.handle = handle;
            this.op = op;
            this.span = span;
            this.since = since;
        }

        /** Returns the outcome of the call, in one of the words of wire.go. */
        String make(long wait) throws InterruptedException {
            this.wait = wait;
            Thread thread = new Thread(this);
            thread.start();
            thread.join();
            return outcome;
        }

        @Override
        public void run() {
            long called = System.nanoTime();
            outcome = take();
            long returned = System.nanoTime();
            if (!op.equals("live") || outcome.equals("ok")) { // a call that must succeed goes on until then
                tell("call", worker.number, op, outcome, since, returned);
            }
            if (!outcome.equals("ok")) {
                return;
            }
            stay(called, returned);
            String released = release();
            if (op.equals("live") && !released.equals("ok")
                    && System.nanoTime() - returned > TimeUnit.MILLISECONDS.toNanos(lease / 4)) {
                released = "lost-by-a-stalled-machine"; // as in worker.go
            }
            tell("unlock", op + ":" + released);
        }

        private String take() {
            try {
                return handle.take(wait, lease) ? "ok" : "busy";
            } catch (RedisException e) {
                return "unavailable";
            } catch (InterruptedException | RuntimeException e) {
                return failed(e);
            }
        }

        /** Stays inside for the span, or until the lease ends, which cannot have begun before the call. */
        private void stay(long called, long from) {
            long until = called + TimeUnit.MILLISECONDS.toNanos(lease);
            long end = from;
            long stalled = 0;
            String id = redisson.getId() + ":" + handle.id;
            tell("hold", worker.number, handle.name, id, handle.token, called, from, until, handle.mode, "-");
            for (long looked = from; ; ) {
                long now = System.nanoTime();
                if (now - looked > STALLED) {
                    stalled += now - looked;
                }
                looked = now;
                end = Math.max(end, Math.min(now, until));
                long left = Math.min(from + span, until) - now;
                if (left <= 0) {
                    break;
                }
                pause(Math.min(left, TimeUnit.MILLISECONDS.toNanos(TICK)));
            }
            tell("end", worker.number, handle.name, id, handle.token, end, stalled);
        }

        private void pause(long nanos) {
            try {
                TimeUnit.NANOSECONDS.sleep(nanos);
            } catch (InterruptedException e) {
                throw new IllegalStateException("nobody interrupts a visit", e);
            }
        }

        private String release() {
            try {
                handle.release();
                return "ok";
            } catch (IllegalMonitorStateException e) { // it had ended
                return "lost";
            } catch (RedisException e) { // a permit that had ended, or a request that failed
                return "unavailable";
            } catch (RuntimeException e) {
                return failed(e);
            }
        }

        private String failed(Exception e) {
            tell("bad", worker.number, op, oneWord(e));
            return "unavailable";
        }
    }
}
