// Takes a lock with Go's clientv3/concurrency again and again. A directory that only one can make at a time is the judge.
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

// contend ENDPOINT NAME TIMES DIRECTORY
func main() {
	times, err := strconv.Atoi(os.Args[3])
	check(err)
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{os.Args[1]}, DialTimeout: 5 * time.Second})
	check(err)
	session, err := concurrency.NewSession(client, concurrency.WithTTL(10))
	check(err)
	mutex := concurrency.NewMutex(session, os.Args[2])
	overlaps := 0
	for n := 0; n < times; n++ {
		check(mutex.Lock(context.Background()))
		if os.Mkdir(os.Args[4], 0700) != nil {
			overlaps++
		}
		time.Sleep(200 * time.Microsecond)
		os.Remove(os.Args[4])
		check(mutex.Unlock(context.Background()))
	}
	check(session.Close())
	fmt.Println("overlaps", overlaps)
}
