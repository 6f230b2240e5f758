import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.Arrays;
import java.util.Random;
import java.util.concurrent.TimeUnit;
import java.util.concurrent.atomic.AtomicBoolean;

/**
 * One client of a library that locks one name over and over, as a process of bench/safety does, and tells in the same
 * lines what happens; see worker.go there, which this follows line by line. Its arguments are the kind of lock, the
 * name, a seed, and where the server is. {@link PeerLock} is the library.
 */
public final class Peer {
    private static final long TICK = 2; // milliseconds between two looks at the time
    private static final long STOPPED = TimeUnit.MILLISECONDS.toNanos(50); // the silence that counts as a stop

    private final PrintStream out = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    private final AtomicBoolean stay = new AtomicBoolean();
    private final AtomicBoolean pause = new AtomicBoolean();
    private final Random random;
    private final PeerLock lock;

    private Peer(PeerLock lock, long seed) {
        this.lock = lock;
        this.random = new Random(seed);
    }

    public static void main(String[] args) throws Exception {
        System.setProperty("org.slf4j.simpleLogger.defaultLogLevel", "off"); // each failed renewal is a stack trace
        try {
            PeerLock lock = new PeerLock(args[0], args[1], Arrays.copyOfRange(args, 3, args.length));
            Peer peer = new Peer(lock, Long.parseUnsignedLong(args[2]));
            Thread orders = new Thread(peer::obey);
            orders.setDaemon(true);
            orders.start();
            peer.roam();
        } catch (Exception e) { // the threads of the library would keep the program alive
            e.printStackTrace();
            System.exit(1);
        }
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
            token = lock.lock();
        } catch (Exception e) {
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
            } catch (Exception e) {
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
        long to = from - 1;
        long told = 0;
        long stopped = 0;
        long resumed = 0;
        for (long last = from; ; ) {
            long now = System.nanoTime();
            if (now - last > STOPPED) {
                stopped += now - last;
                resumed = now;
            }
            last = now;
            if (lock.lost()) {
                told = System.nanoTime();
                stay.compareAndSet(staying, false);
                break;
            }
            to = now;
            if (staying ? !stay.get() : now >= end) {
                break;
            }
            Thread.sleep(TICK);
        }
        tell("out", to, told, stopped, resumed);
    }
}
