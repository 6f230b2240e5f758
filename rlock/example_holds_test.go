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

// The work learns of a loss by its context, and the cause tells what happened.
func ExampleLostError() {
	rdb := redis.NewClient(&redis.Options{Addr: os.Getenv("REDIS_ADDR")}) // "" is localhost:6379
	defer rdb.Close()
	client, err := rlock.NewClient(rdb, &rlock.ClientOptions{Lease: 1500 * time.Millisecond})
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
	// order:1001 was lost: gone from the store
	// true
}

// Inspect tells who holds the lock, for how long at least, and how many wait.
func ExampleLock_Inspect() {
	rdb := redis.NewClient(&redis.Options{Addr: os.Getenv("REDIS_ADDR")}) // "" is localhost:6379
	defer rdb.Close()
	client, err := rlock.NewClient(rdb, nil) // one per process
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
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
	rdb := redis.NewClient(&redis.Options{Addr: os.Getenv("REDIS_ADDR")}) // "" is localhost:6379
	defer rdb.Close()
	client, err := rlock.NewClient(rdb, nil) // one per process
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	lock := rlock.New(client, "order:1001")

	ctx, unlock, _ := lock.Lock(context.Background())
	fmt.Println(lock.Break(context.Background()))
	<-ctx.Done() // at once if it is held through the same Client
	fmt.Println(errors.Is(context.Cause(ctx), rlock.ErrLost), errors.Is(unlock(), rlock.ErrLost))
	fmt.Println(lock.Break(context.Background()))
	// Output:
	// <nil>
	// true true
	// holdfast: lock "order:1001" is not held
}

// A hold moves to another process, and is never in two: what Export returns can travel with the job.
func ExampleLock_Export() {
	rdb := redis.NewClient(&redis.Options{Addr: os.Getenv("REDIS_ADDR")}) // "" is localhost:6379
	defer rdb.Close()
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
	// <nil> holdfast: the lock was released
	// holdfast: lock "video:9" is not held
	// <nil> true
	// holdfast: lock "video:9" is not held
	// <nil>
}

// Goroutines that are given the context of a hold are inside it together. With NonReentrant the mistake is an error, and
// the work queues once it is given a context without the hold.
func ExampleNonReentrant() {
	rdb := redis.NewClient(&redis.Options{Addr: os.Getenv("REDIS_ADDR")}) // "" is localhost:6379
	defer rdb.Close()
	client, err := rlock.NewClient(rdb, nil) // one per process
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	lock := rlock.New(client, "printer", rlock.NonReentrant())

	var pages sync.WaitGroup
	_ = lock.Do(context.Background(), func(held context.Context) error {
		err := lock.Do(held, func(context.Context) error { return nil })
		var entered *rlock.ReentryError
		fmt.Println(errors.As(err, &entered), entered.Name, entered.Place != "")

		queue := context.WithoutCancel(rlock.WithoutHolds(held)) // it goes on after this hold
		pages.Go(func() {
			fmt.Println(lock.Do(queue, func(context.Context) error {
				fmt.Println("printed after the other page")
				return nil
			}))
		})
		return nil
	})
	pages.Wait()
	// Output:
	// true printer true
	// printed after the other page
	// <nil>
}

// Every callee with the context holds the lock. Work that must queue like any other caller gets a
// context without the hold, and work that goes on after the lock one that unlock does not end.
func ExampleWithoutHolds() {
	rdb := redis.NewClient(&redis.Options{Addr: os.Getenv("REDIS_ADDR")}) // "" is localhost:6379
	defer rdb.Close()
	client, err := rlock.NewClient(rdb, nil) // one per process
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
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
	rdb := redis.NewClient(&redis.Options{Addr: os.Getenv("REDIS_ADDR")}) // "" is localhost:6379
	defer rdb.Close()
	client, err := rlock.NewClient(rdb, &rlock.ClientOptions{Observer: &rlock.Observer{
		End: func(_ context.Context, call rlock.Call, waited time.Duration, err error) {
			fmt.Println("acquired", call.Name, waited < time.Minute, rlock.OutcomeOf(err))
		},
		Ended: func(_ context.Context, call rlock.Call, held time.Duration, err error) {
			fmt.Println("ended", call.Name, held < time.Minute, rlock.OutcomeOfHold(err))
		},
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
	// acquired order:1001 true held
	// working
	// ended order:1001 true released
}
