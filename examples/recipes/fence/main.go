// Command fence makes a write that a holder cannot make once another one has had its lock, whatever it knows of that.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/fence"
	"github.com/holdfast-go/holdfast/rlock"
)

// save writes under the hold that ctx carries. The guard keeps the newest fencing token beside the key: it compares
// and writes in one step. The context cannot do that: a process that is stopped between a look at it and the write
// does not see it end. Every write to the key has to pass the guard, and a change of an old value has to begin with a
// read that passes it, such as guard.Do(ctx, "recipe:text", hold.Fence, "GET").
func save(ctx context.Context, guard *fence.Redis, lock *rlock.Lock, text string) error {
	hold, err := lock.Held(ctx) // asks nobody
	if err != nil {
		return err // a loss that this process knows of
	}
	_, err = guard.Do(ctx, "recipe:text", hold.Fence, "SET", text)
	return err // ErrStale: another holder has been here, and nothing was written; begin anew, with Lock
}

func main() {
	ctx := context.Background()
	rdb := redis.NewClient(&redis.Options{Addr: os.Getenv("REDIS_ADDR")}) // "" is localhost:6379
	defer rdb.Close()
	guard, err := fence.NewRedis(rdb, 0)
	first, err1 := rlock.NewClient(rdb, nil)
	second, err2 := rlock.NewClient(rdb, nil) // in another process
	if err := errors.Join(err, err1, err2); err != nil {
		log.Fatal(err)
	}
	defer func() { _, _ = first.Close(), second.Close() }()

	lock, theirs := rlock.New(first, "recipe:text:lock"), rlock.New(second, "recipe:text:lock")
	held, unlock, err := lock.Lock(ctx)
	if err != nil {
		log.Fatal(err)
	}
	fmt.Println("the second takes the lock away:", theirs.Break(ctx)) // in life, the first is stopped for a lease
	err = theirs.Do(ctx, func(ctx context.Context) error { return save(ctx, guard, theirs, "new") })
	fmt.Println("and writes:", err)
	fmt.Println("the first has not noticed:", held.Err() == nil)
	err = save(held, guard, lock, "old")
	fmt.Println("it writes what is stale:", errors.Is(err, fence.ErrStale), rdb.Get(ctx, "recipe:text").Val())
	fmt.Println("its unlock says the loss:", errors.Is(unlock(), rlock.ErrLost))
}
