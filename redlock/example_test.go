package redlock_test

import (
	"context"
	"fmt"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/embedded"
	"github.com/holdfast-go/holdfast/redlock"
	"github.com/holdfast-go/holdfast/rlock"
)

// A lock over three nodes, of which one is lost while it is held.
func Example() {
	nodes, kill, end := exampleNodes(3)
	defer end()
	client, err := redlock.NewClient(nodes, &redlock.Options{
		ClientOptions:  rlock.ClientOptions{Lease: 3 * time.Second, Logger: quiet},
		NoRestartGuard: true, // these servers were started just now, for this example
	})
	if err != nil {
		fmt.Println(err)
		return
	}
	defer func() { _ = client.Close() }()

	lock := redlock.New(client, "order:1001")
	err = lock.Do(context.Background(), func(ctx context.Context) error {
		kill(0)
		return lock.Do(ctx, func(ctx context.Context) error { // re-enters, on the two that are left
			hold, err := lock.Held(ctx)
			fmt.Println("levels:", hold.Count)
			return err
		})
	})
	fmt.Println("released:", err)
	// Output:
	// levels: 2
	// released: <nil>
}

// exampleNodes starts servers inside this process, so that the example runs anywhere. An application has
// its own: one redis.NewClient for each of three or five machines.
func exampleNodes(size int) (nodes []redis.UniversalClient, kill func(i int), end func()) {
	var servers []*embedded.Server
	for range size {
		s, err := embedded.Start()
		if err != nil {
			panic(err)
		}
		servers = append(servers, s)
		nodes = append(nodes, redis.NewClient(&redis.Options{Addr: s.Addr()}))
	}
	return nodes, func(i int) { servers[i].Close() }, func() {
		for i, s := range servers {
			_ = nodes[i].Close()
			s.Close()
		}
	}
}
