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
import java.util.concurrent.Future;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;
import java.util.concurrent.atomic.AtomicLong;
import java.util.function.Supplier;
import java.util.stream.Collectors;

/**
 * Clients of a library, each as another process's for the server, that do what they are told on standard input, a line
 * a command:
 *
 * <pre>id thread operation arguments...</pre>
 *
 * Each thread label is a Java thread of its own. The answer is a line on standard output when the command is done:
 * {@code id ok text} or {@code id error exception: message}. The program ends with its input. Its arguments are the
 * server's address and the number of clients. {@link Client} is the library.
 */
public final class Load {
    private static final long GRACE = TimeUnit.SECONDS.toNanos(1); // for those who wait at the end, as in measure.Load
    private static final long PATIENCE = TimeUnit.SECONDS.toNanos(60);

    private final List<Client> clients = new ArrayList<>();
    private final Map<String, ExecutorService> threads = new ConcurrentHashMap<>();
    private final Map<String, Deque<Handle>> held = new ConcurrentHashMap<>(); // by thread

    public static void main(String[] args) throws IOException {
        PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
        Load load = new Load();
        try {
            for (int i = 0; i < Integer.parseInt(args[1]); i++) {
                load.clients.add(new Client(args[0]));
            }
        } catch (Exception e) { // the threads of the clients before it would keep the program alive
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
                Handle handle = clients.get(Integer.parseInt(args[0])).handle(args[1], args[2]);
                taken(handle);
                held.computeIfAbsent(label, one -> new ArrayDeque<>()).push(handle);
                return "";
            case "try": // client kind name: whether it was to be had; it is not kept
                Handle tried = clients.get(Integer.parseInt(args[0])).handle(args[1], args[2]);
                boolean got = tried.take(0);
                if (got) {
                    tried.free();
                }
                return String.valueOf(got);
            case "free": // what this thread took last
                held.get(label).pop().free();
                return "";
            case "pass": // kind name turns settle milliseconds: from the release by one client to the other's turn
                return pass(args[0], args[1], Integer.parseInt(args[2]), Integer.parseInt(args[3]),
                        Integer.parseInt(args[4]));
            case "permits": // name number
                clients.get(0).permits(args[0], Integer.parseInt(args[1]));
                return "";
            default:
                throw new IllegalArgumentException("unknown operation: " + operation);
        }
    }

    /** Nanoseconds, with commas: how long it took each time. Who waits is given a while to get into its wait. */
    private String pass(String kind, String name, int turns, int settle, int within) throws Exception {
        Handle[] handles = {clients.get(0).handle(kind, name), clients.get(1).handle(kind, name)};
        ExecutorService[] hands = {Executors.newSingleThreadExecutor(), Executors.newSingleThreadExecutor()};
        List<Long> took = new ArrayList<>();
        hands[0].submit(() -> taken(handles[0])).get();
        for (int turn = 0; turn < turns; turn++) {
            int from = turn % 2;
            Future<Long> got = hands[1 - from].submit(() -> taken(handles[1 - from]));
            Thread.sleep(settle + ThreadLocalRandom.current().nextInt(within));
            long start = hands[from].submit(() -> freed(handles[from])).get();
            took.add(got.get() - start);
        }
        hands[turns % 2].submit(() -> freed(handles[turns % 2])).get();
        hands[0].shutdown();
        hands[1].shutdown();
        return took.stream().map(String::valueOf).collect(Collectors.joining(","));
    }

    private static long taken(Handle handle) throws Exception {
        if (!handle.take(PATIENCE)) {
            throw new IllegalStateException("not to be had");
        }
        return System.nanoTime();
    }

    private static long freed(Handle handle) throws Exception {
        long start = System.nanoTime();
        handle.free();
        return start;
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
            for (Client client : clients) {
                Absence absence = new Absence();
                for (int i = 0; i < perClient; i++) {
                    String one = own ? name + ":" + workers.size() : name;
                    Handle kept = client.handle(kind, one);
                    workers.add(new Worker(this, own ? () -> client.handle(kind, one) : () -> kept, absence));
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
