// Takes a lock with node's redlock or redis-semaphore again and again, and looks whether anybody else is inside.
// Arguments: which of the two, port (or ports, with commas), name of the lock, how often, directory that only one can make at a
// time.
const fs = require("fs");
const Redis = require("ioredis");

const [library, ports, name, times, inside] = process.argv.slice(2);
const servers = ports.split(",").map((port) => new Redis(Number(port)));
const server = servers[0];

function lockWithRedlock() {
    const { default: Redlock } = require("redlock");
    const redlock = new Redlock([server], { retryCount: -1, retryDelay: 1, retryJitter: 1 });
    return async () => {
        const lock = await redlock.acquire([name], 30000);
        return () => lock.release();
    };
}

// Of several servers. While it retries, redlock 5.0.0-beta.2 keeps what a failed attempt got, and that is in its own way until
// the lease ends; only an attempt that is the last is given back. So every attempt is the last, and the retries are ours.
function lockWithRedlockOfSeveral() {
    const { default: Redlock, ExecutionError } = require("redlock");
    const redlock = new Redlock(servers, { retryCount: 0 });
    return async () => {
        for (;;) {
            try {
                const lock = await redlock.acquire([name], 30000);
                return () => lock.release();
            } catch (failure) {
                if (!(failure instanceof ExecutionError)) throw failure;
            }
            await new Promise((resolve) => setTimeout(resolve, 1 + Math.random() * 10));
        }
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
    const make = library !== "redlock" ? lockWithSemaphore : servers.length > 1 ? lockWithRedlockOfSeveral : lockWithRedlock;
    const acquire = make();
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
    for (const one of servers) one.disconnect();
}

main().catch((failure) => {
    console.error(failure);
    process.exit(1);
});
