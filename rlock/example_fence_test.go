package rlock_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/rlock"
)

// store keeps a value, and the highest fencing token that wrote it.
type store struct {
	mu    sync.Mutex // guards all below
	value string
	fence int64
}

var errStale = errors.New("store: written under a newer lock")

// Write refuses a holder that has lost the lock, even if it does not know that yet. In SQL it is
//
//	UPDATE t SET value = $1, fence = $2 WHERE id = $3 AND fence <= $2
func (s *store) Write(value string, fence int64) error {
	s.mu.Lock()
	defer s.mu.Unlock()
	if fence < s.fence {
		return errStale
	}
	s.value, s.fence = value, fence
	return nil
}

// No lock with a lease can stop a process that was asleep while its lease ran out. A store that keeps
// the highest fencing token can.
func ExampleLock_Held() {
	rdb := redis.NewClient(&redis.Options{Addr: os.Getenv("REDIS_ADDR")}) // "" is localhost:6379
	defer rdb.Close()
	client, err := rlock.NewClient(rdb, nil) // one per process
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	lock := rlock.New(client, "report")
	var s store

	sleeper, unlock, _ := lock.Lock(context.Background())
	old, err := lock.Held(sleeper)
	fmt.Println("the sleeper holds:", err, time.Now().Before(old.ValidUntil))
	_ = unlock() // as if its lease had run out while it slept

	_ = lock.Do(context.Background(), func(ctx context.Context) error {
		hold, err := lock.Held(ctx)
		if err != nil {
			return err
		}
		fmt.Println("a greater token:", hold.Fence > old.Fence)
		fmt.Println("the next writes:", s.Write("new", hold.Fence))
		return nil
	})
	fmt.Println("the sleeper writes:", s.Write("old", old.Fence))
	fmt.Println(s.value)
	// Output:
	// the sleeper holds: <nil> true
	// a greater token: true
	// the next writes: <nil>
	// the sleeper writes: store: written under a newer lock
	// new
}
