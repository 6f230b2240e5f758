package semaphore_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/semaphore"
)

// Three printers, and any number of callers that print.
func ExampleSemaphore_Do() {
	rdb := redis.NewClient(&redis.Options{Addr: os.Getenv("REDIS_ADDR")}) // "" is localhost:6379
	defer rdb.Close()
	client, err := rlock.NewClient(rdb, nil) // one per process
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	ctx := context.Background()

	printers := semaphore.New(client, "printers")
	if err := printers.SetCapacity(ctx, 3); err != nil {
		fmt.Println(err)
		return
	}
	err = printers.Do(ctx, 2, func(ctx context.Context) error {
		_, _, err := printers.TryAcquire(ctx, 2)
		fmt.Println("two more:", errors.Is(err, rlock.ErrBusy))
		return ctx.Err() // over as soon as the permits are lost
	})
	fmt.Println(err)
	_, _, err = printers.Acquire(ctx, 4)
	fmt.Println(err)
	// Output:
	// two more: true
	// <nil>
	// holdfast: n must be at most the capacity, 3 (got 4)
}

// Inspect says who holds permits, and Break takes them from a holder that does not come back.
func ExampleSemaphore_Break() {
	rdb := redis.NewClient(&redis.Options{Addr: os.Getenv("REDIS_ADDR")}) // "" is localhost:6379
	defer rdb.Close()
	client, err := rlock.NewClient(rdb, nil) // one per process
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	ctx := context.Background()

	printers := semaphore.New(client, "printers")
	if err := printers.SetCapacity(ctx, 3); err != nil {
		fmt.Println(err)
		return
	}
	held, release, err := printers.Acquire(ctx, 2)
	if err != nil {
		fmt.Println(err)
		return
	}
	info, err := printers.Inspect(ctx)
	if err != nil {
		fmt.Println(err)
		return
	}
	stuck := info.Holders[0]
	fmt.Println(stuck.Count, stuck.Mine, printers.Break(ctx, stuck.ID))
	fmt.Println(errors.Is(context.Cause(held), rlock.ErrLost), errors.Is(release(), rlock.ErrLost))
	// Output:
	// 2 true <nil>
	// true true
}

// A counting semaphore is a number: who takes of it and who adds to it need not be the same.
func ExampleCounting() {
	rdb := redis.NewClient(&redis.Options{Addr: os.Getenv("REDIS_ADDR")}) // "" is localhost:6379
	defer rdb.Close()
	client, err := rlock.NewClient(rdb, nil) // one per process
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	ctx := context.Background()

	tickets := semaphore.NewCounting(client, "tickets")
	fmt.Println(tickets.Set(ctx, 2), errors.Is(tickets.Set(ctx, 100), rlock.ErrBusy))
	fmt.Println(tickets.Acquire(ctx, 2), errors.Is(tickets.TryAcquire(ctx, 1), rlock.ErrBusy))
	fmt.Println(tickets.Release(ctx, 5))
	fmt.Println(tickets.Available(ctx))
	fmt.Println(tickets.Drain(ctx))
	if err := tickets.Delete(ctx); err != nil { // Redis would keep the number for ever
		log.Fatal(err)
	}
	// Output:
	// <nil> true
	// <nil> true
	// <nil>
	// 5 <nil>
	// 5 <nil>
}
