package fairlock_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/fairlock"
	"github.com/holdfast-go/holdfast/internal/embedded"
	"github.com/holdfast-go/holdfast/rlock"
)

// exampleClient is a client of a Redis inside this process, so that the examples run anywhere.
func exampleClient() (client *rlock.Client, end func()) {
	server, err := embedded.Start()
	if err != nil {
		panic(err)
	}
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
	client, err = rlock.NewClient(rdb, nil)
	if err != nil {
		panic(err)
	}
	return client, func() {
		_ = client.Close()
		_ = rdb.Close()
		server.Close()
	}
}

// Whoever asks first is served first. Inspect tells who waits, in all processes.
func Example() {
	client, end := exampleClient()
	defer end()
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
