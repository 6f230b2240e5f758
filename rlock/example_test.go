package rlock_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"log/slog"
	"os"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/rlock"
)

// One Client serves a process. It is made from the application's Redis client, which stays the
// application's.
func ExampleNewClient() {
	rdb := redis.NewClient(&redis.Options{Addr: os.Getenv("REDIS_ADDR")}) // "" is localhost:6379
	defer rdb.Close()

	client, err := rlock.NewClient(rdb, &rlock.ClientOptions{
		Lease:  10 * time.Second, // how long others wait after a crash
		Prefix: "shop:lock:",     // the same in every process
		Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	err = rlock.New(client, "order:1001").Do(context.Background(), func(ctx context.Context) error {
		fmt.Println("Redis has", rdb.Keys(ctx, "shop:*").Val())
		return nil
	})
	fmt.Println(err, client.Close())

	_, err = rlock.NewClient(rdb, &rlock.ClientOptions{Lease: -time.Second})
	fmt.Println(err)
	// Output:
	// Redis has [shop:lock:order:1001]
	// <nil> <nil>
	// holdfast: ClientOptions.Lease must be at least 100ms (got -1s)
}

// Close names what was still held: in tests that finds every forgotten unlock.
func ExampleClient_Close() {
	rdb := redis.NewClient(&redis.Options{Addr: os.Getenv("REDIS_ADDR")}) // "" is localhost:6379
	defer rdb.Close()
	client, err := rlock.NewClient(rdb, nil) // one per process
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	ctx, _, err := rlock.New(client, "order:1001").Lock(context.Background()) // never unlocked
	fmt.Println(err)
	fmt.Println(client.Close())
	fmt.Println(context.Cause(ctx))
	fmt.Println(client.Close())
	// Output:
	// <nil>
	// holdfast: closed with locks still held: ["order:1001"]
	// holdfast: lock "order:1001": the client is closed
	// <nil>
}

// The main path: the function runs with the lock held, and with the context that carries it.
func ExampleLock_Do() {
	rdb := redis.NewClient(&redis.Options{Addr: os.Getenv("REDIS_ADDR")}) // "" is localhost:6379
	defer rdb.Close()
	client, err := rlock.NewClient(rdb, nil) // one per process
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	lock := rlock.New(client, "order:1001")

	charge := func(ctx context.Context) error {
		_, err := lock.Held(ctx)
		fmt.Println("charging; held:", err == nil)
		return errors.New("the card was declined")
	}
	err = lock.Do(context.Background(), charge)
	fmt.Println(err)

	_, err = lock.Held(context.Background())
	fmt.Println(err)
	// Output:
	// charging; held: true
	// the card was declined
	// holdfast: lock "order:1001" is not held
}

// The same by hand: go on with the context that Lock returned, and unlock. The result has a name, so that the
// deferred call can add its error to it; otherwise that error would be lost.
func ExampleLock_Lock() {
	rdb := redis.NewClient(&redis.Options{Addr: os.Getenv("REDIS_ADDR")}) // "" is localhost:6379
	defer rdb.Close()
	client, err := rlock.NewClient(rdb, nil) // one per process
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	ship := func(ctx context.Context, lock *rlock.Lock, send func(ctx context.Context, fence int64)) (err error) {
		ctx, unlock, err := lock.Lock(ctx) // waits until held, or ctx ends
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, unlock()) }()

		hold, err := lock.Held(ctx)
		if err != nil {
			return err
		}
		send(ctx, hold.Fence)
		return nil
	}

	order := rlock.New(client, "order:1001")
	err = ship(context.Background(), order, func(ctx context.Context, fence int64) {
		fmt.Println("shipping; token:", fence > 0, ctx.Err())
	})
	fmt.Println(err)

	hasty := rlock.New(client, "order:1001", rlock.MaxHold(50*time.Millisecond))
	err = ship(context.Background(), hasty, func(ctx context.Context, _ int64) {
		<-ctx.Done() // and nobody looks at why
	})
	fmt.Println("the caller hears of the loss:", errors.Is(err, rlock.ErrLost))
	// Output:
	// shipping; token: true <nil>
	// <nil>
	// the caller hears of the loss: true
}

// A function that locks what its caller holds re-enters: one more level, and each is unlocked once.
func ExampleLock_Lock_reentry() {
	rdb := redis.NewClient(&redis.Options{Addr: os.Getenv("REDIS_ADDR")}) // "" is localhost:6379
	defer rdb.Close()
	client, err := rlock.NewClient(rdb, nil) // one per process
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	lock := rlock.New(client, "account:7")

	withdraw := func(ctx context.Context) error {
		return lock.Do(ctx, func(ctx context.Context) error {
			hold, err := lock.Held(ctx)
			fmt.Println("withdraw: level", hold.Count)
			return err
		})
	}
	transfer := func(ctx context.Context) error {
		return lock.Do(ctx, func(ctx context.Context) error {
			if err := withdraw(ctx); err != nil {
				return err
			}
			hold, err := lock.Held(ctx)
			fmt.Println("transfer: level", hold.Count)
			return err
		})
	}
	fmt.Println(transfer(context.Background()))
	// Output:
	// withdraw: level 2
	// transfer: level 1
	// <nil>
}

// One attempt, for work that somebody else is doing already.
func ExampleLock_TryLock() {
	rdb := redis.NewClient(&redis.Options{Addr: os.Getenv("REDIS_ADDR")}) // "" is localhost:6379
	defer rdb.Close()
	client, err := rlock.NewClient(rdb, nil) // one per process
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	lock := rlock.New(client, "nightly-report")

	_, unlock, err := lock.TryLock(context.Background())
	fmt.Println("first:", err)

	_, _, err = lock.TryLock(context.Background())
	switch {
	case errors.Is(err, rlock.ErrBusy):
		fmt.Println("second: another process makes the report")
	case errors.Is(err, rlock.ErrUnavailable):
		fmt.Println("second: Redis did not answer")
	}
	fmt.Println(unlock())
	// Output:
	// first: <nil>
	// second: another process makes the report
	// <nil>
}

// MaxWait limits the wait alone. A deadline of the context would cut the work short as well.
func ExampleMaxWait() {
	rdb := redis.NewClient(&redis.Options{Addr: os.Getenv("REDIS_ADDR")}) // "" is localhost:6379
	defer rdb.Close()
	client, err := rlock.NewClient(rdb, nil) // one per process
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	_, unlock, err := rlock.New(client, "printer").Lock(context.Background())
	fmt.Println(err)

	hasty := rlock.New(client, "printer", rlock.MaxWait(200*time.Millisecond))
	err = hasty.Do(context.Background(), func(context.Context) error { return nil })
	fmt.Println("busy:", errors.Is(err, rlock.ErrBusy), errors.Is(err, context.DeadlineExceeded))

	ctx, cancel := context.WithTimeout(context.Background(), 200*time.Millisecond)
	defer cancel()
	_, _, err = rlock.New(client, "printer").Lock(ctx)
	fmt.Println("busy:", errors.Is(err, rlock.ErrBusy), errors.Is(err, context.DeadlineExceeded))
	fmt.Println(unlock())
	// Output:
	// <nil>
	// busy: true false
	// busy: true true
	// <nil>
}

// Work whose length is known needs no watchdog. Its context ends a little before the lease does.
func ExampleFixedLease() {
	rdb := redis.NewClient(&redis.Options{Addr: os.Getenv("REDIS_ADDR")}) // "" is localhost:6379
	defer rdb.Close()
	client, err := rlock.NewClient(rdb, nil) // one per process
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	lock := rlock.New(client, "cache:rebuild", rlock.FixedLease(200*time.Millisecond))

	ctx, unlock, err := lock.Lock(context.Background())
	fmt.Println(err)
	<-ctx.Done() // the work took too long
	fmt.Println(context.Cause(ctx))
	fmt.Println(errors.Is(unlock(), rlock.ErrLost))
	// Output:
	// <nil>
	// holdfast: lock "cache:rebuild" lost: lease expired
	// true
}

// A holder that is stuck keeps the others waiting no longer than MaxHold.
func ExampleMaxHold() {
	rdb := redis.NewClient(&redis.Options{Addr: os.Getenv("REDIS_ADDR")}) // "" is localhost:6379
	defer rdb.Close()
	client, err := rlock.NewClient(rdb, nil) // one per process
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	lock := rlock.New(client, "import", rlock.MaxHold(50*time.Millisecond))

	err = lock.Do(context.Background(), func(ctx context.Context) error {
		<-ctx.Done() // stuck
		return context.Cause(ctx)
	})
	var lost *rlock.LostError
	fmt.Println(errors.As(err, &lost), lost.Reason)
	// Output:
	// true MaxHold exceeded
}
