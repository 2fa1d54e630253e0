"""Takes a lock with kazoo again and again, and looks whether anybody else is inside.
Arguments: servers, path of the lock, how often, directory where all contenders meet."""

import os
import sys

from kazoo.client import KazooClient

servers, path, times, place = sys.argv[1:]
inside, count = place + "/inside", place + "/count"

client = KazooClient(hosts=servers)
client.start()
lock = client.Lock(path, extra_lock_patterns=["-lock-"])
overlaps = 0
for _ in range(int(times)):
    with lock:
        try:
            os.close(os.open(inside, os.O_CREAT | os.O_EXCL | os.O_WRONLY))
        except FileExistsError:
            overlaps += 1
            continue
        with open(count) as before:
            number = int(before.read())
        with open(count, "w") as after:
            after.write(str(number + 1))
        os.remove(inside)
client.stop()
print("overlaps=%d" % overlaps)
