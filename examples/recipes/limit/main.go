// Command limit has all replicas together make at most three calls of an external API at a time.
package main

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
	"github.com/holdfast-go/holdfast/semaphore"
)

// geocoder is what each replica calls when it starts. All set the same capacity, which counts for all of them
// together: a limit for each would grow with their number. It limits the calls at a time, and not those in a second.
func geocoder(ctx context.Context, client *rlock.Client) (*semaphore.Semaphore, error) {
	api := semaphore.New(client, "recipe:geocoder", rlock.MaxWait(10*time.Second)) // a longer wait ends with ErrBusy
	return api, api.SetCapacity(ctx, 3)
}

// locate makes one call. Its permit is renewed meanwhile; that of a replica that crashes is free within a lease.
func locate(ctx context.Context, api *semaphore.Semaphore, call func(ctx context.Context) error) error {
	return api.Do(ctx, 1, call) // never nested: a permit is not re-entered, so callers could wait for one another
}

func main() {
	calls := make(chan struct{}, 3) // those that the API is busy with
	call := func(context.Context) error {
		select {
		case calls <- struct{}{}:
			time.Sleep(20 * time.Millisecond)
			<-calls
			return nil
		default:
			return errors.New("429 Too Many Requests")
		}
	}
	rdb := redis.NewClient(&redis.Options{Addr: os.Getenv("REDIS_ADDR")}) // "" is localhost:6379
	defer rdb.Close()
	var callers sync.WaitGroup
	for range 8 {
		client, err1 := rlock.NewClient(rdb, nil) // one per replica
		api, err2 := geocoder(context.Background(), client)
		if err := errors.Join(err1, err2); err != nil {
			log.Fatal(err)
		}
		defer client.Close()
		callers.Go(func() { fmt.Println(locate(context.Background(), api, call)) })
	}
	callers.Wait()
}
