// Takes a lock with Apache Curator for some seconds, and says how often it had it. Arguments: server, path, seconds.

import org.apache.curator.framework.CuratorFramework;
import org.apache.curator.framework.CuratorFrameworkFactory;
import org.apache.curator.framework.recipes.locks.InterProcessMutex;
import org.apache.curator.retry.ExponentialBackoffRetry;

public final class CuratorMutex {
    public static void main(String[] args) throws Exception {
        CuratorFramework client = CuratorFrameworkFactory.newClient(args[0], new ExponentialBackoffRetry(100, 5));
        client.start();
        client.blockUntilConnected();
        InterProcessMutex mutex = new InterProcessMutex(client, args[1]);
        int times = 0;
        for (long end = System.nanoTime() + Integer.parseInt(args[2]) * 1_000_000_000L; System.nanoTime() < end; ++times) {
            mutex.acquire();
            mutex.release();
        }
        client.close();
        System.out.println(times);
    }
}
