// Command quickstart shows, in about ten seconds, what a holdfast lock does, and checks each step:
// nested locking, renewal, waiting and waking between two clients, a hold that is lost and reports
// it, a holder that is killed, and fencing tokens throughout. It exits non-zero if any check fails.
//
//	go run ./examples/quickstart
//	REDIS_URL=redis://localhost:6379 go run ./examples/quickstart
//
// Without REDIS_URL it starts a Redis-compatible server in this process, or on a 32-bit system the Redis that is
// installed. For a cluster give a URL with more addresses (redis://a:6379?addr=b:6379), for Sentinel one with the name
// of its master (redis://sentinel:26379?master_name=mymaster).
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/google/uuid"

	"github.com/holdfast-go/holdfast/rlock"
)

// lease is short, so that steps that take several leases can be watched. The default is 30 s.
const lease = 1500 * time.Millisecond

// patience bounds the whole run; no step takes anywhere near as long.
const patience = time.Minute

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if os.Getenv(holderEnv) != "" {
		if err := holdUntilKilled(ctx); err != nil {
			fmt.Fprintln(os.Stderr, "holder:", err)
			os.Exit(1)
		}
		return
	}
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "FAILED:", err)
		os.Exit(1)
	}
}

// demo is shared by the steps.
type demo struct {
	*timeline
	redis  *server
	client *rlock.Client
	name   string
	lock   *rlock.Lock
	fences []int64 // of every hold of the lock, in the order of the holds
}

func run(ctx context.Context) (err error) {
	redis, err := connect()
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, redis.close()) }()
	t := newTimeline()
	t.say("%s, a lease of %v", redis.what, lease)
	client, err := rlock.NewClient(redis.rdb, options(&rlock.Observer{Renewed: t.renewed}))
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()

	name := "quickstart:" + uuid.NewString()[:8]
	d := &demo{
		timeline: t, redis: redis, client: client,
		name: name, lock: rlock.New(client, name),
	}
	for _, step := range []struct {
		title string
		run   func(context.Context) error
	}{
		{"A lock can be locked again by its holder", d.nested},
		{"A hold lives for as long as it is used, though its lease is short", d.renewal},
		{"A second client waits, and is woken", d.waits},
		{"A hold that is lost says so", d.loss},
		{"A holder that dies is survived", d.killed},
		{"Every hold has a fencing token greater than all before it", d.fencing},
	} {
		t.head(step.title)
		if err := step.run(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.title, err)
		}
	}
	t.head("Everything was as it should be")
	return nil
}

func options(o *rlock.Observer) *rlock.ClientOptions {
	return &rlock.ClientOptions{Lease: lease, FenceTTL: patience, Observer: o, Logger: quiet}
}
