// Command hourly runs a job once per hour on several replicas, whose clocks differ.
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

// minHold is longer than the clocks differ, and shorter than the time until the job is due again.
const minHold = 30 * time.Minute

// everyHour is what each replica calls at its own full hour. TryLock does not wait: a replica that waited would run
// the job once another has run it. MinHold keeps the lock although the job is over, so that a replica whose clock is
// late finds it busy. So a job that fails has to be tried again here, within job: no other replica does it this hour.
func everyHour(ctx context.Context, client *rlock.Client, job func(ctx context.Context) error) (err error) {
	ctx, unlock, err := rlock.New(client, "recipe:report", rlock.MinHold(minHold)).TryLock(ctx)
	if errors.Is(err, rlock.ErrBusy) {
		return nil // it runs elsewhere, or has just run
	}
	if err != nil {
		return err
	}
	defer func() { err = rlock.Join(err, unlock()) }() // returns at once; Redis keeps the lock for the rest of minHold
	return job(ctx)
}

func main() {
	ctx := context.Background()
	for _, replica := range []string{"the first replica", "one whose clock is late"} { // each a process of its own
		rdb := redis.NewClient(&redis.Options{Addr: os.Getenv("REDIS_ADDR")}) // "" is localhost:6379
		defer rdb.Close()
		client, err := rlock.NewClient(rdb, nil)
		if err != nil {
			log.Fatal(err)
		}
		defer client.Close()
		fmt.Println(replica, "is at its full hour:")
		if err := everyHour(ctx, client, func(context.Context) error {
			fmt.Println("  the report is sent")
			return nil
		}); err != nil {
			log.Fatal(err)
		}
		defer rlock.New(client, "recipe:report").Break(ctx) // so that this program can be run again at once
	}
	// Output:
	// the first replica is at its full hour:
	//   the report is sent
	// one whose clock is late is at its full hour:
}
