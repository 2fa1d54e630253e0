// Takes a lock with Go's clientv3/concurrency for some seconds, and says how often it had it.
package main

import (
	"context"
	"fmt"
	"os"
	"strconv"
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

// go_mutex ENDPOINT NAME SECONDS
func main() {
	seconds, err := strconv.Atoi(os.Args[3])
	check(err)
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{os.Args[1]}, DialTimeout: 5 * time.Second})
	check(err)
	session, err := concurrency.NewSession(client, concurrency.WithTTL(10))
	check(err)
	mutex := concurrency.NewMutex(session, os.Args[2])
	times := 0
	for end := time.Now().Add(time.Duration(seconds) * time.Second); time.Now().Before(end); times++ {
		check(mutex.Lock(context.Background()))
		check(mutex.Unlock(context.Background()))
	}
	check(session.Close())
	fmt.Println(times)
}
