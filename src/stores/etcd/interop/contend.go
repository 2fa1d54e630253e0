// Takes a lock with Go's clientv3/concurrency again and again.
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

// contend ENDPOINT NAME TIMES DIRECTORY   says how often somebody else was inside: only one can make the directory
// contend ENDPOINT NAME SECONDS           says how often it had the lock
func main() {
	limit, err := strconv.Atoi(os.Args[3])
	check(err)
	client, err := clientv3.New(clientv3.Config{Endpoints: []string{os.Args[1]}, DialTimeout: 5 * time.Second})
	check(err)
	session, err := concurrency.NewSession(client, concurrency.WithTTL(10))
	check(err)
	mutex := concurrency.NewMutex(session, os.Args[2])
	judged := len(os.Args) > 4
	end := time.Now().Add(time.Duration(limit) * time.Second)
	times, overlaps := 0, 0
	for ; (judged && times < limit) || (!judged && time.Now().Before(end)); times++ {
		check(mutex.Lock(context.Background()))
		if judged {
			if os.Mkdir(os.Args[4], 0700) != nil {
				overlaps++
			}
			time.Sleep(200 * time.Microsecond)
			os.Remove(os.Args[4])
		}
		check(mutex.Unlock(context.Background()))
	}
	check(session.Close())
	if judged {
		fmt.Println("overlaps", overlaps)
	} else {
		fmt.Println(times)
	}
}
