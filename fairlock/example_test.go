package fairlock_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/fairlock"
	"github.com/holdfast-go/holdfast/rlock"
)

// Callers are served in the order in which they asked. Inspect shows the waiters of all processes.
func Example() {
	rdb := redis.NewClient(&redis.Options{Addr: os.Getenv("REDIS_ADDR")}) // "" is localhost:6379
	defer rdb.Close()
	client, err := rlock.NewClient(rdb, nil) // one per process
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	gate := fairlock.New(client, "tickets:gate-7")

	held, unlock, err := gate.Lock(context.Background())
	if err != nil {
		fmt.Println(err)
		return
	}
	var queue sync.WaitGroup
	for i, who := range []string{"Ada", "Ben", "Cem"} {
		queue.Go(func() {
			err := gate.Do(context.Background(), func(context.Context) error {
				fmt.Println(who, "is served")
				return nil
			})
			if err != nil {
				fmt.Println(err)
			}
		})
		for waiters := 0; waiters <= i && err == nil; <-time.After(time.Millisecond) {
			var info rlock.Info
			info, err = gate.Inspect(held)
			waiters = len(info.Queue)
		}
	}
	// Nobody passes those who wait.
	_, _, busy := gate.TryLock(context.Background())
	fmt.Println("one more has to queue:", errors.Is(busy, rlock.ErrBusy))

	if err := errors.Join(err, unlock()); err != nil {
		fmt.Println(err)
	}
	queue.Wait()
	// Output:
	// one more has to queue: true
	// Ada is served
	// Ben is served
	// Cem is served
}
