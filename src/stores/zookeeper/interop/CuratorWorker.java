// Takes a lock with Apache Curator again and again, and looks whether anybody else is inside.
// Arguments: servers, path of the lock, "mutex" or "write", how often, directory where all contenders meet.

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
        InterProcessLock lock = args[2].equals("mutex")
            ? new InterProcessMutex(client, args[1])
            : new InterProcessReadWriteLock(client, args[1]).writeLock();
        Path inside = Path.of(args[4], "inside");
        Path count = Path.of(args[4], "count");
        int overlaps = 0;
        for (int i = Integer.parseInt(args[3]); i > 0; --i) {
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
        client.close();
        System.out.println("overlaps=" + overlaps);
    }
}
