package grpclock_test

import (
	"context"
	"fmt"
	"log"
	"os"
	"time"

	"github.com/redis/go-redis/v9"
	"google.golang.org/grpc"
	"google.golang.org/grpc/health/grpc_health_v1"

	"github.com/holdfast-go/holdfast/adapters/grpclock"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/rlock"
)

// One call at a time works on an order, on whichever server; the others wait for two seconds at most.
func Example() {
	rdb := redis.NewClient(&redis.Options{Addr: os.Getenv("REDIS_ADDR")}) // "" is localhost:6379
	defer rdb.Close()
	client, err := rlock.NewClient(rdb, nil) // one per process
	if err != nil {
		log.Fatal(err)
	}
	defer client.Close()

	locks := func(name string) lock.Locker { return rlock.New(client, name, rlock.MaxWait(2*time.Second)) }
	interceptor := grpclock.Unary(locks, func(_ context.Context, _ string, request any) string {
		if r, ok := request.(*grpc_health_v1.HealthCheckRequest); ok { // a request of your own service
			return "order:" + r.GetService()
		}
		return "" // no lock
	})
	server := grpc.NewServer(grpc.UnaryInterceptor(interceptor))
	defer server.Stop()

	// What the server does with each call:
	answer, err := interceptor(context.Background(), &grpc_health_v1.HealthCheckRequest{Service: "1001"},
		&grpc.UnaryServerInfo{FullMethod: "/shop.Orders/Pay"},
		func(ctx context.Context, _ any) (any, error) { // ctx carries the hold, and ends when it is lost
			return "paid", ctx.Err()
		})
	fmt.Println(answer, err)
	// Output: paid <nil>
}
