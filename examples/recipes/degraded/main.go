// Command degraded shows what to do while Redis is away: work without the lock, or refuse.
package main

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/rlock"
)

const wasteful, harmful = "wasteful", "harmful" // if two callers do it: make a thumbnail twice, charge a card twice

// locked works under the lock. While Redis is away it fails open, and works all the same, if doing it twice is
// wasteful and no more; otherwise it fails closed. Only an error of Lock says that nothing has begun. After a loss, or
// an unlock that is not confirmed, the work has run, and another caller may be at it: here it is never repeated
// without the lock. The lock has a MaxWait, which bounds the wait for Redis.
func locked(ctx context.Context, lock *rlock.Lock, twice string, work func(ctx context.Context) error) (err error) {
	held, unlock, err := lock.Lock(ctx)
	away := errors.Is(err, rlock.ErrUnavailable) && !errors.Is(err, rlock.ErrLost) // lost: a hold that ctx carried
	if away && twice == wasteful && ctx.Err() == nil {
		log.Println("working without the lock:", err)
		return work(ctx)
	}
	if err != nil {
		return err // for ErrBusy as well: somebody else is at it
	}
	defer func() { err = rlock.Join(err, unlock()) }()
	return work(held)
}

func main() {
	show(os.Getenv("REDIS_ADDR"), wasteful) // "" is localhost:6379
	show("127.0.0.1:1", wasteful)           // nobody listens there
	show("127.0.0.1:1", harmful)
}

func show(addr, twice string) {
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	defer rdb.Close()
	client, err := rlock.NewClient(rdb, nil)
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	lock, times := rlock.New(client, "recipe:degraded", rlock.MaxWait(500*time.Millisecond)), 0
	err = locked(context.Background(), lock, twice, func(ctx context.Context) error {
		times++
		if _, err := lock.Held(ctx); err == nil {
			return lock.Break(context.Background()) // the lock is lost, as after a long pause
		}
		return nil
	})
	fmt.Println(twice, "if done twice; done:", times, "lost:", errors.Is(err, rlock.ErrLost), "refused:", times == 0)
}
