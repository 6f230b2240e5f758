package rlock_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/rlock"
)

// charge runs with the lock held. Its context ends if the hold is lost, so pass it to everything that it calls.
func charge(ctx context.Context) error {
	fmt.Println("charging; still held:", ctx.Err() == nil)
	return nil
}

// ship does the same by hand. Its result has a name, so that the deferred call can add the error of unlock, which says
// whether the lock was valid to the end.
func ship(ctx context.Context, lock *rlock.Lock) (err error) {
	ctx, unlock, err := lock.Lock(ctx)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, unlock()) }()

	hold, err := lock.Held(ctx)
	if err != nil {
		return err
	}
	fmt.Println("shipping; the storage gets a fencing token:", hold.Fence > 0)
	return nil
}

// A program with one client and one lock: the short form, Do, and the long one, Lock.
func Example() {
	rdb := redis.NewClient(&redis.Options{Addr: os.Getenv("REDIS_ADDR")}) // "" is localhost:6379
	defer rdb.Close()
	client, err := rlock.NewClient(rdb, nil) // one per process
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	lock := rlock.New(client, "order:1001")
	if err := lock.Do(context.Background(), charge); err != nil {
		log.Print(err)
	}
	if err := ship(context.Background(), lock); err != nil {
		log.Print(err)
	}
	// Output:
	// charging; still held: true
	// shipping; the storage gets a fencing token: true
}
