// Command leader runs three replicas of a service, processes of which one leads. The leader is killed, and another one
// leads within a lease; then that one resigns, and the third leads at once. Each writes to a journal under its term,
// and an entry of an older term is refused. It exits non-zero if any check fails.
//
//	go run ./examples/leader
//	REDIS_URL=redis://localhost:6379 go run ./examples/leader
//
// Without REDIS_URL it starts a Redis-compatible server in this process.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/fence"
	"github.com/holdfast-go/holdfast/leader"
	"github.com/holdfast-go/holdfast/rlock"
)

const (
	// lease is how long the others wait for a dead leader. It is short, so that the wait can be watched; the default
	// is 30 s.
	lease = time.Second

	// patience bounds the whole run; no step takes anywhere near as long.
	patience = time.Minute
)

const (
	urlEnv     = "REDIS_URL"
	nameEnv    = "LEADER_ELECTION" // set for a replica: the name of the election
	addressEnv = "LEADER_ADDRESS"  // and what it says of itself
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	run := operator
	if os.Getenv(nameEnv) != "" {
		run = replica
	}
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "FAILED:", err)
		os.Exit(1)
	}
}

// operator starts the replicas, and looks who leads.
func operator(ctx context.Context) (err error) {
	url := os.Getenv(urlEnv)
	if url == "" {
		server, err := miniredis.Run()
		if err != nil {
			return err
		}
		server.ClockTTL(true) // otherwise no key expires unless a test says so
		defer server.Close()
		url = "redis://" + server.Addr()
	}
	rdb, client, err := connect(url)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, client.Close(), rdb.Close()) }()
	name := "scheduler:" + uuid.NewString()[:8]
	journal := "journal:" + name
	defer func() { err = errors.Join(err, rdb.Del(context.WithoutCancel(ctx), journal).Err()) }()

	replicas := make(map[string]*process)
	for _, address := range []string{"10.0.0.1:80", "10.0.0.2:80", "10.0.0.3:80"} {
		if replicas[address], err = start(ctx, url, name, address); err != nil {
			return err
		}
		defer replicas[address].kill()
	}
	election := leader.New(rlock.New(client, name), leader.ObserveEvery(lease/10))
	first, err := next(ctx, election, leader.Leader{})
	if err != nil {
		return err
	}
	replicas[first.Value].kill()
	fmt.Println("  it is killed; the others wait for its lease")

	second, err := next(ctx, election, first)
	if err != nil {
		return err
	}
	guard, err := fence.NewRedis(rdb, 0)
	if err == nil {
		err = late(ctx, guard, journal, first.Term, second.Term)
	}
	if err != nil {
		return err
	}

	if err := replicas[second.Value].stop(); err != nil {
		return err
	}
	fmt.Println("  it resigns")
	if _, err := next(ctx, election, second); err != nil {
		return err
	}
	fmt.Println("Everything was as it should be")
	return nil
}

// late writes to the journal as the dead leader would if its last request came now.
func late(ctx context.Context, guard *fence.Redis, journal string, dead, now int64) error {
	if _, err := guard.Do(ctx, journal, now, "STRLEN"); err != nil { // as the new leader's first write would
		return err
	}
	if _, err := guard.Do(ctx, journal, dead, "APPEND", "a late entry"); !errors.Is(err, fence.ErrStale) {
		return fmt.Errorf("an entry of the dead leader was not refused: %w", err)
	}
	fmt.Println("  an entry that the dead one sent arrives late: refused")
	return nil
}

// next waits for a leader after another one.
func next(ctx context.Context, election *leader.Election, after leader.Leader) (leader.Leader, error) {
	for who, err := range election.Observe(ctx) {
		switch {
		case errors.Is(err, leader.ErrNoLeader), err == nil && who.Value == after.Value:
		case err != nil:
			return who, err
		case who.Term <= after.Term:
			return who, fmt.Errorf("term %d follows term %d", who.Term, after.Term)
		default:
			fmt.Println(who.Value, "leads")
			return who, nil
		}
	}
	return leader.Leader{}, context.Cause(ctx)
}

// connect makes what each process has of its own.
func connect(url string) (*redis.Client, *rlock.Client, error) {
	o, err := redis.ParseURL(url)
	if err != nil { // its text has the password
		return nil, nil, errors.New(urlEnv + " is no URL: special characters of a password are written %XX")
	}
	rdb := redis.NewClient(o)
	client, err := rlock.NewClient(rdb, &rlock.ClientOptions{Lease: lease})
	if err != nil {
		return nil, nil, errors.Join(err, rdb.Close())
	}
	return rdb, client, nil
}
