// Command redlock shows, in about fifteen seconds, a lock over five independent Redis servers, one of which is frozen
// and another killed and restarted empty while the lock is held. It prints a timeline, checks each step, and exits
// non-zero if any check fails.
//
//	go run ./examples/redlock
//
// It starts the servers itself, with the redis-server or valkey-server on PATH, or the program that
// HOLDFAST_REDIS_SERVER names.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/redlock"
	"github.com/holdfast-go/holdfast/rlock"
)

const (
	size     = 5
	lease    = 3 * time.Second // short, so that steps that take leases can be watched; the default is 30 s
	patience = time.Minute     // for the whole run; no step takes anywhere near as long
	name     = "demo:order:1001"
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "FAILED:", err)
		os.Exit(1)
	}
}

// demo is shared by the steps.
type demo struct {
	*timeline
	nodes  []*node
	client *redlock.Client
	lock   *rlock.Lock
	rival  *rlock.Lock // of another client, like another process's
	fences []int64     // of every hold, in the order of the holds
	held   context.Context
	unlock func() error
}

func run(ctx context.Context) (err error) {
	d := &demo{timeline: newTimeline()}
	defer func() {
		for _, n := range d.nodes {
			err = errors.Join(err, n.close())
		}
	}()
	for i := range size {
		n, err := startNode(ctx, i+1)
		if err != nil {
			return err
		}
		d.nodes = append(d.nodes, n)
	}
	d.say("five servers, each for itself; a quorum is three; a lease of %v", lease)
	client, lock, err := d.newClient(&rlock.Observer{Renewed: d.renewed})
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close()) }()
	other, rival, err := d.newClient(nil)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, other.Close()) }()
	d.client, d.lock, d.rival = client, lock, rival
	for _, step := range []struct {
		title string
		run   func(context.Context) error
	}{
		{"Servers that were started just now have no vote: they may have forgotten something", d.young},
		{"The lock stands on all nodes", d.take},
		{"Node 5 is frozen, and nobody waits for it", d.freeze},
		{"Node 1 is killed and comes back empty, and gives nothing away", d.restart},
		{"The lock goes back to both", d.heal},
		{"Every hold had a fencing token greater than all before it", d.fencing},
	} {
		d.head(step.title)
		if err := step.run(ctx); err != nil {
			return fmt.Errorf("%s: %w", step.title, err)
		}
	}
	d.head("Everything was as it should be")
	return nil
}

// newClient makes a client of all nodes, and its handle on the lock.
func (d *demo) newClient(o *rlock.Observer) (*redlock.Client, *rlock.Lock, error) {
	var nodes []redis.UniversalClient
	for _, n := range d.nodes {
		nodes = append(nodes, n.rdb)
	}
	client, err := redlock.NewClient(nodes, &redlock.Options{ClientOptions: rlock.ClientOptions{
		Lease: lease, MaxPoll: lease / 10, Observer: o, Logger: slog.New(slog.DiscardHandler),
	}})
	if err != nil {
		return nil, nil, err
	}
	return client, redlock.New(client, name), nil
}
