// Takes a lock with Apache Curator again and again.
//
// CuratorWorker SERVERS PATH KIND TIMES DIRECTORY   says how often somebody else was inside; all contenders meet in the directory
// CuratorWorker SERVERS PATH KIND SECONDS           says how often it had the lock
//
// KIND is mutex, write, or both: three reads and a write in turn, only with a directory.

import java.nio.file.FileAlreadyExistsException;
import java.nio.file.Files;
import java.nio.file.Path;
import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessLock;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.framework.recipes.locks.InterProcessReadWriteLock;
import org.apache.curator.retry.ExponentialBackoffRetry;

public final class CuratorWorker {
    public static void main(String[] args) throws Exception {
        CuratorFramework client = CuratorFrameworkFactory.newClient(args[0], new ExponentialBackoffRetry(100, 5));
        client.start();
        client.blockUntilConnected();
        InterProcessReadWriteLock both = new InterProcessReadWriteLock(client, args[1]);
        InterProcessLock lock = args[2].equals("mutex") ? new InterProcessMutex(client, args[1]) : both.writeLock();
        int limit = Integer.parseInt(args[3]);
        String said = args[2].equals("both") ? "overlaps=" + overlaps(both, limit, args[4])
            : args.length > 4 ? "overlaps=" + overlaps(lock, limit, args[4]) : String.valueOf(times(lock, limit));
        client.close();
        System.out.println(said);
    }

    private static int overlaps(InterProcessLock lock, int times, String directory) throws Exception {
        Path inside = Path.of(directory, "inside");
        Path count = Path.of(directory, "count");
        int overlaps = 0;
        for (int i = times; i > 0; --i) {
            lock.acquire();
            try {
                Files.createFile(inside);
                Files.writeString(count, String.valueOf(Integer.parseInt(Files.readString(count)) + 1));
                Files.delete(inside);
            } catch (FileAlreadyExistsException e) {
                ++overlaps;
            } finally {
                lock.release();
            }
        }
        return overlaps;
    }

    // A reader leaves a file in "readers" while it reads, a writer makes "inside": nobody may see both.
    private static int overlaps(InterProcessReadWriteLock both, int times, String directory) throws Exception {
        Path inside = Path.of(directory, "inside");
        Path reading = Path.of(directory, "readers", "curator");
        int overlaps = 0;
        for (int i = times; i > 0; --i) {
            boolean writes = i % 4 == 0;
            InterProcessLock lock = writes ? both.writeLock() : both.readLock();
            lock.acquire();
            try {
                Files.createFile(writes ? inside : reading);
                boolean other = writes ? readers(directory) > 0 : Files.exists(inside);
                if (other) ++overlaps;
                Files.delete(writes ? inside : reading);
            } catch (FileAlreadyExistsException e) {
                ++overlaps;
            } finally {
                lock.release();
            }
        }
        return overlaps;
    }

    private static long readers(String directory) throws Exception {
        try (var all = Files.list(Path.of(directory, "readers"))) {
            return all.count();
        }
    }

    private static int times(InterProcessLock lock, int seconds) throws Exception {
        int times = 0;
        for (long end = System.nanoTime() + seconds * 1_000_000_000L; System.nanoTime() < end; ++times) {
            lock.acquire();
            lock.release();
        }
        return times;
    }
}
