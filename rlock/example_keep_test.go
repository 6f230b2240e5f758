package rlock_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/rlock"
)

// A process that locks the same account again and again asks Redis once a second, and not twice for each turn.
func ExampleKeep() {
	rdb := redis.NewClient(&redis.Options{Addr: os.Getenv("REDIS_ADDR")}) // "" is localhost:6379
	defer rdb.Close()
	client, err := rlock.NewClient(rdb, nil) // one per process
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	account := rlock.New(client, "account:42", rlock.Keep(time.Second), rlock.Lease(10*time.Second))

	balance := 0
	for range 1000 {
		err := account.Do(context.Background(), func(context.Context) error {
			balance++
			return nil
		})
		if err != nil {
			log.Fatal(err)
		}
	}
	fmt.Println(balance)
	// Output:
	// 1000
}

// A long job looks now and then whether anybody waits, and yields at a good moment.
func ExampleLock_Wanted() {
	rdb := redis.NewClient(&redis.Options{Addr: os.Getenv("REDIS_ADDR")}) // "" is localhost:6379
	defer rdb.Close()
	client, err := rlock.NewClient(rdb, nil) // one per process
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	lock := rlock.New(client, "reindex", rlock.Yields())

	err = lock.Do(context.Background(), func(ctx context.Context) error {
		wanted, err := lock.Wanted(ctx)
		if err != nil {
			return err
		}
		go func() { // another caller, here or in another process
			_ = lock.Do(context.Background(), func(context.Context) error { return nil })
		}()
		for batch := 1; ; batch++ {
			select {
			case <-time.After(time.Millisecond): // the work of a batch
			case <-ctx.Done():
				return context.Cause(ctx)
			}
			select {
			case <-wanted:
				fmt.Println("yields after a batch")
				return nil
			default:
			}
		}
	})
	fmt.Println(err)
	// Output:
	// yields after a batch
	// <nil>
}
