// Many wait for one lock with Go's clientv3/concurrency, each with a session of its own; then each that gets it gives it back.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
	"sync"
	"time"

	"go.etcd.io/etcd/clientv3"
	"go.etcd.io/etcd/clientv3/concurrency"
)

func check(err error) {
	if err != nil {
		fmt.Fprintln(os.Stderr, err)
		os.Exit(1)
	}
}

// drain ENDPOINT NAME WAITERS   says how many hand-overs a second
func main() {
	waiters, err := strconv.Atoi(os.Args[3])
	check(err)
	here := context.Background()
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{os.Args[1]}, DialTimeout: 5 * time.Second})
	check(err)
	name := os.Args[2]
	begin := func() *concurrency.Mutex {
		session, err := concurrency.NewSession(client, concurrency.WithTTL(60))
		check(err)
		return concurrency.NewMutex(session, name)
	}
	first := begin()
	check(first.Lock(here))
	var all sync.WaitGroup
	for i := 0; i < waiters; i++ {
		mutex := begin()
		all.Add(1)
		go func() {
			defer all.Done()
			check(mutex.Lock(here))
			check(mutex.Unlock(here))
		}()
	}
	for {
		line, err := client.Get(here, name+"/", clientv3.WithPrefix(), clientv3.WithCountOnly())
		check(err)
		if line.Count > int64(waiters) {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	time.Sleep(200 * time.Millisecond) // to fall asleep
	began := time.Now()
	check(first.Unlock(here))
	all.Wait()
	took := time.Since(began)
	fmt.Println(int(float64(waiters) / took.Seconds()))
}
