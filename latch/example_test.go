package latch_test

import (
	"context"
	"errors"
	"fmt"
	"log"
	"os"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/latch"
	"github.com/holdfast-go/holdfast/rlock"
)

// The parts of an import are done anywhere; a program that needs all of them waits.
func Example() {
	rdb := redis.NewClient(&redis.Options{Addr: os.Getenv("REDIS_ADDR")}) // "" is localhost:6379
	defer rdb.Close()
	client, err := rlock.NewClient(rdb, nil) // one per process
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()
	ctx := context.Background()

	done := latch.New(client, "import:2026-08")
	fmt.Println(done.Set(ctx, 3), errors.Is(done.Set(ctx, 9), rlock.ErrBusy))
	for range 3 {
		go func() { // in any process
			if err := done.CountDown(ctx); err != nil {
				log.Print(err)
			}
		}()
	}
	fmt.Println(done.Wait(ctx))
	fmt.Println(done.Count(ctx))
	// Output:
	// <nil> true
	// <nil>
	// 0 <nil>
}
