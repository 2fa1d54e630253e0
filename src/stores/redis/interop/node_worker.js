// Takes a lock with node's redlock or redis-semaphore again and again, and looks whether anybody else is inside.
// Arguments: which of the two, port, name of the lock, how often, directory that only one can make at a time.
const fs = require("fs");
const Redis = require("ioredis");

const [library, port, name, times, inside] = process.argv.slice(2);
const server = new Redis(Number(port));

function lockWithRedlock() {
    const { default: Redlock } = require("redlock");
    const redlock = new Redlock([server], { retryCount: -1, retryDelay: 1, retryJitter: 1 });
    return async () => {
        const lock = await redlock.acquire([name], 30000);
        return () => lock.release();
    };
}

function lockWithSemaphore() {
    const { Mutex } = require("redis-semaphore");
    return async () => {
        const mutex = new Mutex(server, name, { lockTimeout: 30000, acquireTimeout: 120000, retryInterval: 1 });
        await mutex.acquire();
        return () => mutex.release();
    };
}

async function main() {
    const acquire = library === "redlock" ? lockWithRedlock() : lockWithSemaphore();
    let overlaps = 0;
    for (let n = 0; n < Number(times); ++n) {
        const release = await acquire();
        try {
            fs.mkdirSync(inside);
            fs.rmdirSync(inside);
        } catch (failure) {
            if (failure.code !== "EEXIST") throw failure;
            ++overlaps;
        }
        await release();
    }
    console.log(`overlaps=${overlaps}`);
    server.disconnect();
}

main().catch((failure) => {
    console.error(failure);
    process.exit(1);
});
