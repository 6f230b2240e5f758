package otel_test

import (
	"context"
	"log"

	"github.com/redis/go-redis/v9"

	locktelemetry "github.com/holdfast-go/holdfast/observe/otel"
	"github.com/holdfast-go/holdfast/rlock"
)

// The metrics and spans of all locks of a process, to the global providers.
func Example() {
	telemetry, err := locktelemetry.New(locktelemetry.Options{})
	if err != nil {
		log.Fatal(err)
	}
	locks, err := rlock.NewClient(redis.NewClient(&redis.Options{Addr: "localhost:6379"}),
		&rlock.ClientOptions{Observer: telemetry.Observer()})
	if err != nil {
		log.Fatal(err)
	}
	err = rlock.New(locks, "order:1001").Do(context.Background(), func(context.Context) error { return nil })
	if err != nil {
		log.Println(err) // and the span holdfast.wait has it
	}
}
