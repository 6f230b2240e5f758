// Command path runs one warm Lock and unlock of a free lock, and writes which of our statements were executed, for
// make path, which counts functions and files. It must be built with coverage.
package main

import (
	"context"
	"log"
	"os"
	"runtime/coverage"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/testkit/embedded"
	"github.com/holdfast-go/holdfast/rlock"
)

func main() {
	if err := run(os.Args[1]); err != nil {
		log.Fatal("path: ", err)
	}
}

func run(dir string) error {
	server, err := embedded.Start()
	if err != nil {
		return err
	}
	defer server.Close()
	rdb := redis.NewClient(&redis.Options{Addr: server.Addr()})
	defer func() { _ = rdb.Close() }()
	client, err := rlock.NewClient(rdb, nil)
	if err != nil {
		return err
	}
	defer func() { _ = client.Close() }()
	ctx, cancel := context.WithCancel(context.Background())
	defer cancel()
	lock := rlock.New(client, "path")
	for range 3 { // the last is warm, and counts
		if err := coverage.ClearCounters(); err != nil {
			return err
		}
		_, unlock, err := lock.Lock(ctx)
		if err != nil {
			return err
		}
		if err := unlock(); err != nil {
			return err
		}
	}
	if err := coverage.WriteMetaDir(dir); err != nil {
		return err
	}
	return coverage.WriteCountersDir(dir)
}
