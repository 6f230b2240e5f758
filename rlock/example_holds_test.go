package rlock_test

import (
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

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
	client, end := exampleClient()
	defer end()
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

// The work learns of a loss by its context, and the cause tells what happened.
func ExampleLostError() {
	rdb, end := exampleRedis()
	defer end()
	client, err := rlock.NewClient(rdb, &rlock.ClientOptions{Lease: 300 * time.Millisecond})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = client.Close() }()

	err = rlock.New(client, "order:1001").Do(context.Background(), func(ctx context.Context) error {
		rdb.FlushAll(ctx) // Redis forgets everything
		<-ctx.Done()      // within a third of a lease
		var lost *rlock.LostError
		if errors.As(context.Cause(ctx), &lost) {
			fmt.Println(lost.Name, "was lost:", lost.Reason)
		}
		return nil
	})
	fmt.Println(errors.Is(err, rlock.ErrLost))
	// Output:
	// order:1001 was lost: key is gone from Redis
	// true
}

// Inspect tells who holds the lock, for how long at least, and how many wait.
func ExampleLock_Inspect() {
	client, end := exampleClient()
	defer end()
	lock := rlock.New(client, "order:1001")

	_ = lock.Do(context.Background(), func(ctx context.Context) error {
		info, err := lock.Inspect(ctx)
		if err != nil {
			return err
		}
		for _, h := range info.Holders {
			fmt.Println("held here:", h.Mine, "levels:", h.Count, "TTL above 20 s:", h.TTL > 20*time.Second)
		}
		fmt.Println("waiters:", info.Waiters)
		return nil
	})
	info, err := lock.Inspect(context.Background())
	fmt.Println(len(info.Holders), err)
	// Output:
	// held here: true levels: 1 TTL above 20 s: true
	// waiters: 0
	// 0 <nil>
}

// An operator takes the lock from its holder.
func ExampleLock_Break() {
	client, end := exampleClient()
	defer end()
	lock := rlock.New(client, "order:1001")

	ctx, unlock, _ := lock.Lock(context.Background())
	fmt.Println(lock.Break(context.Background()))
	<-ctx.Done() // at once if it is held through the same Client
	fmt.Println(errors.Is(context.Cause(ctx), rlock.ErrLost), errors.Is(unlock(), rlock.ErrLost))
	fmt.Println(lock.Break(context.Background()))
	// Output:
	// <nil>
	// true true
	// rlock: lock "order:1001" is not held
}

// A hold moves to another process, and is never in two: what Export returns can travel with the job.
func ExampleLock_Export() {
	rdb, end := exampleRedis()
	defer end()
	frontend, _ := rlock.NewClient(rdb, nil)
	worker, _ := rlock.NewClient(rdb, nil)
	defer func() { _, _ = frontend.Close(), worker.Close() }()

	lock := rlock.New(frontend, "video:9")
	ctx, unlock, _ := lock.Lock(context.Background())
	before, _ := lock.Held(ctx)
	token, err := lock.Export(ctx)
	fmt.Println(err, context.Cause(ctx))
	fmt.Println(unlock())

	there := rlock.New(worker, "video:9")
	ctx, unlock, err = there.Import(context.Background(), token)
	after, _ := there.Held(ctx)
	fmt.Println(err, after.Fence == before.Fence)
	_, _, err = there.Import(context.Background(), token)
	fmt.Println(err)
	fmt.Println(unlock())
	// Output:
	// <nil> rlock: the lock was released
	// rlock: lock "video:9" is not held
	// <nil> true
	// rlock: lock "video:9" is not held
	// <nil>
}

// Every callee with the context holds the lock. Work that must queue like any other caller gets a
// context without the hold, and work that goes on after the lock one that unlock does not end.
func ExampleWithoutHolds() {
	client, end := exampleClient()
	defer end()
	lock := rlock.New(client, "order:1001")

	var audit context.Context // of work that outlives the hold
	_ = lock.Do(context.Background(), func(ctx context.Context) error {
		_, unlock, err := lock.TryLock(ctx)
		fmt.Println("inside:", err, unlock())

		_, _, err = lock.TryLock(rlock.WithoutHolds(ctx))
		fmt.Println("a stranger is busy:", errors.Is(err, rlock.ErrBusy))

		audit = context.WithoutCancel(rlock.WithoutHolds(ctx))
		return nil
	})
	fmt.Println("afterwards:", audit.Err())
	// Output:
	// inside: <nil> <nil>
	// a stranger is busy: true
	// afterwards: <nil>
}

// Metrics hang on an Observer.
func ExampleObserver() {
	rdb, end := exampleRedis()
	defer end()
	client, err := rlock.NewClient(rdb, &rlock.ClientOptions{Observer: &rlock.Observer{
		Acquired: func(name string, waited time.Duration) { fmt.Println("acquired", name, waited < time.Minute) },
		Lost:     func(err *rlock.LostError) { fmt.Println("lost", err.Name, err.Reason) },
		Released: func(name string, held time.Duration, err error) { fmt.Println("released", name, err) },
	}})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = client.Close() }()

	_ = rlock.New(client, "order:1001").Do(context.Background(), func(context.Context) error {
		fmt.Println("working")
		return nil
	})
	// Output:
	// acquired order:1001 true
	// working
	// released order:1001 <nil>
}
