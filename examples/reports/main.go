// Command reports shows a read-write lock on a familiar problem: a report that is expensive to make is kept
// in a cache, many processes serve it, and now and then one of them makes it again.
//
// The report is in several keys, and a server of the report must see all of one version. So serving takes
// the read side, which any number of servers hold at the same time, and making takes the write side. A maker
// reads its report back while it changes from writing to reading, before anybody else can make another one.
// The fencing token rejects a report from a maker that lost its lock.
//
//	go run ./examples/reports
//	REDIS_URL=redis://localhost:6379 go run ./examples/reports
//
// Without REDIS_URL it starts a Redis-compatible server in this process. It exits non-zero if a server ever
// saw parts of two versions, or if any other check fails.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"sync/atomic"
	"time"

	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast-go/holdfast/rlock"
)

const (
	servers  = 6                // processes that serve the report; here they are clients of one process
	versions = 5                // number of times it is made
	patience = time.Minute      // bounds the whole run
	lease    = 10 * time.Second // of a hold; a dead server blocks makers for this long
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "FAILED:", err)
		os.Exit(1)
	}
	fmt.Println("Everything was as it should be")
}

func run(ctx context.Context) (err error) {
	rdb, what, end, err := connect()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, end()) }()
	fmt.Println("on", what)
	name := "reports:" + uuid.NewString()[:8]

	maker, done, err := newDesk(rdb, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, done()) }()
	if err := maker.make(ctx, 1); err != nil {
		return err
	}
	served, stop, err := serve(ctx, rdb, name)
	if err != nil {
		return err
	}
	for version := 2; version <= versions; version++ {
		if err := maker.make(ctx, version); err != nil {
			return errors.Join(err, stop())
		}
		fmt.Printf("version %d is made and read back; %d times served so far\n", version, served())
	}
	if err := stop(); err != nil {
		return err
	}
	if err := maker.turnedAway(ctx); err != nil {
		return err
	}
	return rdb.Del(ctx, maker.key).Err()
}

// serve makes servers read the report until they are stopped.
func serve(
	ctx context.Context, rdb redis.UniversalClient, name string,
) (served func() int64, stop func() error, err error) {
	ctx, cancel := context.WithCancel(ctx)
	all, ctx := errgroup.WithContext(ctx)
	var count atomic.Int64
	for range servers {
		desk, done, err := newDesk(rdb, name)
		if err != nil {
			cancel()
			return nil, nil, err
		}
		all.Go(func() (err error) {
			defer func() { err = errors.Join(err, done()) }()
			for ctx.Err() == nil {
				if err := desk.serve(ctx); err != nil && ctx.Err() == nil {
					return err
				}
				count.Add(1)
			}
			return nil
		})
	}
	stop = func() error {
		cancel()
		return all.Wait()
	}
	return count.Load, stop, nil
}

func options() *rlock.ClientOptions {
	return &rlock.ClientOptions{
		Lease: lease, MaxPoll: 200 * time.Millisecond, FenceTTL: patience,
		Logger: slog.New(slog.DiscardHandler), // what it would log is part of the demonstration
	}
}
