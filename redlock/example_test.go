package redlock_test

import (
	"context"
	"fmt"
	"log"
	"log/slog"
	"os"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/redlock"
	"github.com/holdfast-go/holdfast/rlock"
)

// A lock over three nodes, of which one is down.
func Example() {
	nodes := []redis.UniversalClient{redis.NewClient(&redis.Options{Addr: "localhost:1"})} // nothing listens there
	for _, addr := range strings.Fields(os.Getenv("REDIS_NODES")) {                        // two more, as "a:6379 b:6379"
		nodes = append(nodes, redis.NewClient(&redis.Options{Addr: addr}))
	}
	client, err := redlock.NewClient(nodes, &redlock.Options{
		ClientOptions: rlock.ClientOptions{
			Lease:  3 * time.Second,
			Logger: slog.New(slog.DiscardHandler), // it would warn of the node that is down
		},
		NoRestartGuard: true, // only here, because the servers of this example were started just now
	})
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	lock := redlock.New(client, "order:1001")
	err = lock.Do(context.Background(), func(ctx context.Context) error {
		return lock.Do(ctx, func(ctx context.Context) error { // re-enters, on the two nodes that are up
			hold, err := lock.Held(ctx)
			fmt.Println("levels:", hold.Count)
			return err
		})
	})
	fmt.Println("released:", err)
	for _, rdb := range nodes {
		_ = rdb.Close()
	}
	// Output:
	// levels: 2
	// released: <nil>
}
