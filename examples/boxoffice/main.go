// Command boxoffice sells tickets for three shows under locks, and serves what the locks do as metrics. Several of them
// on one Redis never sell a seat twice. It exits non-zero if a seat is sold twice.
//
//	go run ./examples/boxoffice                       # for five seconds
//	go run ./examples/boxoffice -for 0 -metrics :2112 # until it is interrupted
//
// With REDIS_URL unset it starts a Redis-compatible server in this process. deploy/compose.yaml runs three of them with
// Prometheus and Grafana.
package main

import (
	"context"
	"errors"
	"flag"
	"fmt"
	"net"
	"net/http"
	"os"
	"os/signal"
	"syscall"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/prometheus/client_golang/prometheus"
	"github.com/prometheus/client_golang/prometheus/promhttp"
	"github.com/redis/go-redis/v9"

	lockmetrics "github.com/holdfast-go/holdfast/observe/prometheus"
	"github.com/holdfast-go/holdfast/rlock"
)

// lease is short, so that renewals can be watched; the default is 30 s.
const lease = 3 * time.Second

func main() {
	open := flag.Duration("for", 5*time.Second, "how long to sell; 0 is until an interrupt")
	addr := flag.String("metrics", "127.0.0.1:0", "the address that serves /metrics")
	flag.Parse()
	ctx, stop := signal.NotifyContext(context.Background(), os.Interrupt, syscall.SIGTERM)
	defer stop()
	if *open > 0 {
		var cancel context.CancelFunc
		ctx, cancel = context.WithTimeout(ctx, *open)
		defer cancel()
	}
	if err := run(ctx, *addr); err != nil {
		fmt.Fprintln(os.Stderr, "FAILED:", err)
		os.Exit(1)
	}
}

func run(ctx context.Context, addr string) (err error) {
	rdb, closeRedis, err := dial()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeRedis()) }()

	metrics := lockmetrics.New(lockmetrics.Options{})
	closeServer, err := serve(addr, metrics)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, closeServer()) }()

	client, err := rlock.NewClient(rdb, &rlock.ClientOptions{Lease: lease, Observer: metrics.Observer()})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	defer metrics.Track(client)()

	office := newOffice(rdb, client)
	if err := office.sell(ctx); err != nil {
		return err
	}
	fmt.Println(office.sold.Load(), "seats were sold, and none of them twice")
	return nil
}

// dial connects to the Redis of the environment, or to one in this process.
func dial() (rdb *redis.Client, closeAll func() error, err error) {
	url := os.Getenv("REDIS_URL")
	stop := func() {}
	if url == "" {
		server, err := miniredis.Run()
		if err != nil {
			return nil, nil, err
		}
		server.ClockTTL(true) // otherwise no key expires unless a test says so
		url, stop = "redis://"+server.Addr(), server.Close
	}
	opts, err := redis.ParseURL(url)
	if err != nil { // its text has the password
		stop()
		return nil, nil, errors.New("REDIS_URL is no URL: special characters of a password are written %XX")
	}
	rdb = redis.NewClient(opts)
	return rdb, func() error {
		defer stop()
		return rdb.Close()
	}, nil
}

// serve serves the metrics of the locks at /metrics.
func serve(addr string, metrics prometheus.Collector) (closeServer func() error, err error) {
	registry := prometheus.NewRegistry()
	if err := registry.Register(metrics); err != nil {
		return nil, err
	}
	listener, err := net.Listen("tcp", addr)
	if err != nil {
		return nil, err
	}
	fmt.Printf("metrics are at http://%s/metrics\n", listener.Addr())
	mux := http.NewServeMux()
	mux.Handle("/metrics", promhttp.HandlerFor(registry, promhttp.HandlerOpts{EnableOpenMetrics: true}))
	server := &http.Server{Handler: mux, ReadHeaderTimeout: time.Minute}
	go func() { _ = server.Serve(listener) }() // it ends when it is closed
	return server.Close, nil
}
