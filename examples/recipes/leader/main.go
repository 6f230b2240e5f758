// Command leader has one of several replicas do what only one may do, and another one when that one ends.
package main

import (
	"context"
	"fmt"
	"log"
	"os"
	"sync"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/leader"
	"github.com/holdfast-go/holdfast/rlock"
)

// work runs while this replica leads, and has to return when term ends: soon after that another one leads. Its token
// grows with every term. Send it with each write, so that the storage can refuse a late one: see the recipe fence.
type work func(term context.Context, token int64) error

// lead is what each replica calls when it starts. If a term is lost, it campaigns for the next one. When ctx ends it
// resigns, so that the next leader need not wait for a lease. Others find the address by Current or Observe.
func lead(ctx context.Context, client *rlock.Client, address string, do work) error {
	election := leader.New(rlock.New(client, "recipe:scheduler"), leader.Value(address))
	return election.Run(ctx, func(term context.Context) error {
		hold, err := election.Term(term)
		if err != nil {
			return err
		}
		return do(term, hold.Fence)
	})
}

func main() {
	rdb := redis.NewClient(&redis.Options{Addr: os.Getenv("REDIS_ADDR")}) // "" is localhost:6379
	defer rdb.Close()
	var leaders, last atomic.Int64
	var replicas sync.WaitGroup
	for _, address := range []string{"10.0.0.1:80", "10.0.0.2:80", "10.0.0.3:80"} {
		client, err := rlock.NewClient(rdb, nil) // one per process
		if err != nil {
			log.Fatal(err)
		}
		defer client.Close()
		replicas.Go(func() {
			err := lead(context.Background(), client, address, func(_ context.Context, token int64) error {
				fmt.Println("leaders:", leaders.Add(1), "greater token:", token > last.Swap(token))
				time.Sleep(20 * time.Millisecond) // the work
				leaders.Add(-1)
				return nil // resigns
			})
			if err != nil {
				log.Fatal(err)
			}
		})
	}
	replicas.Wait()
}
