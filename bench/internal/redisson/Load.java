import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.lang.management.ManagementFactory;
import java.nio.charset.StandardCharsets;
import java.util.ArrayDeque;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Deque;
import java.util.List;
import java.util.Map;
import java.util.concurrent.ConcurrentHashMap;
import java.util.concurrent.ExecutorService;
import java.util.concurrent.Executors;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import java.util.stream.Collectors;
import org.redisson.Redisson;
import org.redisson.api.RLock;
import org.redisson.api.RPermitExpirableSemaphore;
import org.redisson.api.RedissonClient;
import org.redisson.config.Config;

/**
 * Redisson clients, each as another process's for Redis, that do what they are told on standard input, a line a
 * command:
 *
 * <pre>id thread operation arguments...</pre>
 *
 * Each thread label is a Java thread of its own. The answer is a line on standard output when the command is done:
 * {@code id ok text} or {@code id error exception: message}. The program ends with its input. Its arguments are the
 * server's address and the number of clients. All settings of Redisson are its defaults.
 */
public final class Load {
    private static final long GRACE = TimeUnit.SECONDS.toNanos(1); // for those who wait at the end, as in measure.Load
    private static final long PATIENCE = TimeUnit.SECONDS.toNanos(60);

    private final List<RedissonClient> clients = new ArrayList<>();
    private final Map<String, ExecutorService> threads = new ConcurrentHashMap<>();
    private final Map<String, Deque<Handle>> held = new ConcurrentHashMap<>(); // by thread

    /** A handle of one thread on something that is taken and freed. */
    private interface Handle {
        boolean take(long nanos) throws Exception;

        void free();
    }

    public static void main(String[] args) throws IOException {
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        Load load = new Load();
        try {
            for (int i = 0; i < Integer.parseInt(args[1]); i++) {
                Config config = new Config();
                config.useSingleServer().setAddress("redis://" + args[0]);
                load.clients.add(Redisson.create(config));
            }
        } catch (RuntimeException e) { // the threads of the clients before it would keep the program alive
            e.printStackTrace();
            System.exit(1);
        }
        out.println("ready");
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        for (String line; (line = in.readLine()) != null; ) {
            String[] words = line.split(" ");
            load.threads.computeIfAbsent(words[1], label -> Executors.newSingleThreadExecutor()).execute(() -> {
                String answer;
                try {
                    answer = "ok " + load.carryOut(words[1], words[2], Arrays.copyOfRange(words, 3, words.length));
                } catch (Exception e) {
                    answer = "error " + e.toString().replace('\n', ' ');
                }
                out.println(words[0] + " " + answer);
            });
        }
        System.exit(0);
    }

    private String carryOut(String label, String operation, String[] args) throws Exception {
        switch (operation) {
            case "load": // kind name own? threads milliseconds
                return new Run(args[0], args[1], Boolean.parseBoolean(args[2]), Integer.parseInt(args[3]),
                        TimeUnit.MILLISECONDS.toNanos(Long.parseLong(args[4]))).run();
            case "take": // client kind name: for as long as it takes
                Handle handle = handle(clients.get(Integer.parseInt(args[0])), args[1], args[2]);
                if (!handle.take(PATIENCE)) {
                    throw new IllegalStateException("not to be had");
                }
                held.computeIfAbsent(label, one -> new ArrayDeque<>()).push(handle);
                return "";
            case "try": // client kind name: whether it was to be had; it is not kept
                Handle tried = handle(clients.get(Integer.parseInt(args[0])), args[1], args[2]);
                boolean got = tried.take(0);
                if (got) {
                    tried.free();
                }
                return String.valueOf(got);
            case "free": // what this thread took last
                held.get(label).pop().free();
                return "";
            case "permits": // name number
                clients.get(0).getPermitExpirableSemaphore(args[0]).setPermits(Integer.parseInt(args[1]));
                return "";
            default:
                throw new IllegalArgumentException("unknown operation: " + operation);
        }
    }

    private static Handle handle(RedissonClient client, String kind, String name) {
        switch (kind) {
            case "lock":
                return of(client.getLock(name));
            case "fair":
                return of(client.getFairLock(name));
            case "read":
                return of(client.getReadWriteLock(name).readLock());
            case "write":
                return of(client.getReadWriteLock(name).writeLock());
            case "multi":
                return of(client.getMultiLock(
                        Arrays.stream(name.split(",")).map(client::getLock).toArray(RLock[]::new)));
            case "permit":
                return of(client.getPermitExpirableSemaphore(name));
            default:
                throw new IllegalArgumentException("unknown kind: " + kind);
        }
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

    /** Threads that lock and unlock without a pause, as many of each client, each with its own handle. */
    private final class Run {
        private final List<Worker> workers = new ArrayList<>();
        private final AtomicBoolean any = new AtomicBoolean();
        private final AtomicLong late = new AtomicLong(); // when the first pair ended, if that was after the end
        private final long length;
        private long begin;

        Run(String kind, String name, boolean own, int perClient, long length) {
            this.length = length;
            for (RedissonClient client : clients) {
                Absence absence = new Absence();
                for (int i = 0; i < perClient; i++) {
                    String one = own ? name + ":" + workers.size() : name;
                    Handle kept = handle(client, kind, one);
                    workers.add(new Worker(this, own ? () -> handle(client, kind, one) : () -> kept, absence));
                }
            }
        }

        /** Nanoseconds; a list has commas: elapsed cpu absence longest turns waits pairs. */
        String run() throws Exception {
            com.sun.management.OperatingSystemMXBean system =
                    (com.sun.management.OperatingSystemMXBean) ManagementFactory.getOperatingSystemMXBean();
            long cpu = system.getProcessCpuTime();
            begin = System.nanoTime();
            workers.forEach(Thread::start);
            long absence = 0;
            long longest = 0;
            for (Worker worker : workers) {
                worker.join();
                if (worker.failure != null) {
                    throw worker.failure;
                }
                absence = Math.max(absence, worker.absence.longest);
                longest = Math.max(longest, worker.longest);
            }
            return Math.max(length, late.get()) + " " + (system.getProcessCpuTime() - cpu) + " " + absence + " "
                    + longest + " "
                    + list(workers.stream().map(w -> (long) w.waits.size()).toList()) + " "
                    + list(workers.stream().flatMap(w -> w.waits.stream()).toList()) + " "
                    + list(workers.stream().flatMap(w -> w.pairs.stream()).toList());
        }

        private static String list(List<Long> values) {
            return values.stream().map(String::valueOf).collect(Collectors.joining(","));
        }
    }

    /** For how long the threads of one client did not get the lock; locked by itself, as readers come together. */
    private static final class Absence {
        private long last;
        private long longest;

        synchronized void came(long at) {
            longest = Math.max(longest, at - last);
            last = at;
        }
    }

    private static final class Worker extends Thread {
        private final Run run;
        private final Supplier<Handle> handles; // a new one for each turn where locks are named by an id
        private final Absence absence;
        private final List<Long> waits = new ArrayList<>();
        private final List<Long> pairs = new ArrayList<>();
        private long longest; // wait, also one that was for nothing
        private Exception failure;

        Worker(Run run, Supplier<Handle> handles, Absence absence) {
            this.run = run;
            this.handles = handles;
            this.absence = absence;
        }

        @Override
        public void run() {
            try {
                while (System.nanoTime() - run.begin < run.length || !run.any.get()) {
                    turn();
                }
            } catch (Exception e) {
                failure = e;
            }
        }

        /** One pair. What ends after the end does not count, unless it is the first of all. */
        private void turn() throws Exception {
            long start = System.nanoTime();
            Handle handle = handles.get();
            long left = run.length - (start - run.begin);
            boolean taken = handle.take(run.any.get() ? Math.max(left, 0) + GRACE : PATIENCE);
            long got = System.nanoTime();
            longest = Math.max(longest, got - start);
            if (!taken) {
                return;
            }
            absence.came(got - run.begin);
            handle.free();
            long done = System.nanoTime();
            if (done - run.begin >= run.length) {
                if (!run.any.compareAndSet(false, true)) {
                    return;
                }
                run.late.set(done - run.begin);
            }
            run.any.set(true);
            waits.add(got - start);
            pairs.add(done - start);
        }
    }
}
