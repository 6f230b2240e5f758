package prometheus_test

import (
	"context"
	"log"
	"net/http"

	client "github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/redis/go-redis/v9"

	lockmetrics "github.com/holdfast-go/holdfast/observe/prometheus"
	"github.com/holdfast-go/holdfast/rlock"
)

// The metrics of all locks of a process, at /metrics.
func Example() {
	registry := client.NewRegistry()
	metrics := lockmetrics.New(lockmetrics.Options{})
	registry.MustRegister(metrics)

	locks, err := rlock.NewClient(redis.NewClient(&redis.Options{Addr: "localhost:6379"}),
		&rlock.ClientOptions{Observer: metrics.Observer()})
	if err != nil {
		log.Fatal(err)
	}

	// OpenMetrics carries the exemplars.
	http.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: true}))
	go func() { log.Fatal(http.ListenAndServe(":2112", nil)) }()

	err = rlock.New(locks, "order:1001").Do(context.Background(), func(context.Context) error { return nil })
	if err != nil {
		log.Println(err) // and holdfast_failures_total{class="order:*", ...} says why
	}
}
