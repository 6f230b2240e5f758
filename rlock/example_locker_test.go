package rlock_test

import (
	"context"
	"fmt"
	"log"
	"os"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/rlock"
)

// locker is the part of a lock that this application uses, declared where it is used.
type locker interface {
	Do(ctx context.Context, fn func(ctx context.Context) error) error
}

// fakeLock is its double for tests: no Redis, no rlock.
type fakeLock struct{ calls int }

func (f *fakeLock) Do(ctx context.Context, fn func(ctx context.Context) error) error {
	f.calls++
	return fn(ctx)
}

// Locks have methods in types of the standard library only, so an application declares its own part of
// them and its own doubles.
func ExampleLocker() {
	rdb := redis.NewClient(&redis.Options{Addr: os.Getenv("REDIS_ADDR")}) // "" is localhost:6379
	defer rdb.Close()
	client, err := rlock.NewClient(rdb, nil) // one per process
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	settle := func(l locker) error {
		return l.Do(context.Background(), func(context.Context) error {
			fmt.Println("settled")
			return nil
		})
	}
	fake := &fakeLock{}
	fmt.Println(settle(rlock.New(client, "invoice:3")), settle(fake), fake.calls)
	// Output:
	// settled
	// settled
	// <nil> <nil> 1
}
