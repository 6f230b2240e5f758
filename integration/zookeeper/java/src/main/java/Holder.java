import java.io.BufferedReader;
import java.io.IOException;
import java.io.InputStreamReader;
import java.io.PrintStream;
import java.nio.charset.StandardCharsets;
import java.util.concurrent.BlockingQueue;
import java.util.concurrent.LinkedBlockingQueue;
import java.util.concurrent.ThreadLocalRandom;
import java.util.concurrent.TimeUnit;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessSemaphoreMutex;
import org.apache.curator.retry.RetryOneTime;

/**
 * One holder of a lock by Curator, which does what it is told on standard input. See ../../../../contender.go, which says
 * what the commands are and what it answers. Its arguments are the servers, the path, its own name, the session's time
 * in milliseconds, and the recipe: mutex, or semaphore for an InterProcessSemaphoreMutex. The program ends with its
 * input.
 */
public final class Holder {
    private static final PrintStream OUT = new PrintStream(System.out, true, StandardCharsets.UTF_8);
    private static final BlockingQueue<String> TOLD = new LinkedBlockingQueue<>();

    private Holder() {}

    public static void main(String[] args) throws Exception {
        Thread reader = new Thread(Holder::listen);
        reader.setDaemon(true);
        reader.start();
        CuratorFramework client = CuratorFrameworkFactory.newClient(
                args[0], Integer.parseInt(args[3]), 5000, new RetryOneTime(100));
        client.start();
        client.blockUntilConnected();
        InterProcessLock lock = args[4].equals("semaphore")
                ? new InterProcessSemaphoreMutex(client, args[1])
                : new InterProcessMutex(client, args[1]);
        OUT.println("ready");
        for (String line; !(line = TOLD.take()).equals("exit"); ) {
            String[] words = line.split(" ");
            switch (words[0]) {
                case "turns":
                    take(lock, args[2], Integer.parseInt(words[1]), Integer.parseInt(words[2]));
                    break;
                case "lock":
                    lock.acquire();
                    OUT.println("held");
                    break;
                case "unlock":
                    lock.release();
                    OUT.println("free");
                    break;
                default:
                    throw new IllegalArgumentException(line);
            }
        }
        client.close();
    }

    private static void take(InterProcessLock lock, String who, int turns, int micros) throws Exception {
        for (int i = 0; i < turns; i++) {
            lock.acquire();
            long from = System.nanoTime(); // on Linux all processes have this clock
            tell(who, from, 0);
            TimeUnit.MICROSECONDS.sleep(ThreadLocalRandom.current().nextInt(micros));
            tell(who, from, System.nanoTime());
            lock.release();
        }
        OUT.println("done");
    }

    private static void tell(String who, long from, long to) {
        OUT.println("{\"Who\":\"" + who + "\",\"From\":" + from + ",\"To\":" + to + "}");
    }

    private static void listen() {
        BufferedReader in = new BufferedReader(new InputStreamReader(System.in, StandardCharsets.UTF_8));
        try {
            for (String line; (line = in.readLine()) != null; ) {
                TOLD.add(line);
            }
        } catch (IOException e) {
            // it is the end of the input
        }
        Runtime.getRuntime().halt(1); // the test has died, or it is about to kill this process
    }
}
