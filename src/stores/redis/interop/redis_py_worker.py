"""Takes a lock with redis-py's Lock again and again, and looks whether anybody else is inside.
Arguments: port, key of the lock, how often, directory that only one can make at a time."""

import os
import sys

import redis

port, key, times, inside = sys.argv[1:]

lock = redis.Redis(port=int(port)).lock(key, timeout=30, sleep=0.001)
overlaps = 0
for _ in range(int(times)):
    with lock:
        try:
            os.mkdir(inside)
        except FileExistsError:
            overlaps += 1
            continue
        os.rmdir(inside)
print("overlaps=%d" % overlaps)
