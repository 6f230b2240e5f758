// Command nightly runs a job that must run once a night, on machines that all have it in their crontab.
// One of them runs it, a late one finds it done, and if the one that runs it dies, another takes over. A
// program that needs the result waits for it on a latch. It exits non-zero if any check fails.
//
//	go run ./examples/nightly
//	REDIS_URL=redis://localhost:6379 go run ./examples/nightly
//
// Without REDIS_URL it starts a Redis-compatible server in this process.
package main

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"os"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/latch"
	"github.com/holdfast-go/holdfast/rlock"
)

const (
	// lease is how long the others wait for a dead machine. It is short, so that the wait can be
	// watched; the default is 30 s.
	lease = time.Second

	// patience bounds the whole run; no step takes anywhere near as long.
	patience = time.Minute
)

const (
	urlEnv   = "REDIS_URL"
	nightEnv = "NIGHTLY_NIGHT" // set for the machine that dies
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	run := night
	if os.Getenv(nightEnv) != "" {
		run = doomed
	}
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "FAILED:", err)
		os.Exit(1)
	}
}

// night is one night: the evening, two o'clock on four machines, and a mailer that waits for the result.
func night(ctx context.Context) error {
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
	// A night has a name of its own, so that the next one is another job.
	name := "close-the-books:" + time.Now().Format(time.DateOnly) + ":" + uuid.NewString()[:8]

	mailer, err := newMachine("the mailer", url, name)
	if err != nil {
		return err
	}
	defer mailer.close()
	if err := mailer.closed.Set(ctx, 1); err != nil { // in the evening: there is something to wait for
		return err
	}
	mailed := make(chan error, 1)
	go func() { mailed <- mailer.closed.Wait(ctx) }()

	if err := dies(ctx, url, name); err != nil {
		return err
	}
	results := make(chan error)
	for _, who := range []string{"machine A", "machine B", "machine C"} {
		go func() { results <- oneMachine(ctx, who, url, name) }()
	}
	for range 3 {
		err = errors.Join(err, <-results)
	}
	if err = errors.Join(err, <-mailed); err != nil {
		return err
	}
	fmt.Println("the mailer sends what the books say")
	if err := oneMachine(ctx, "a machine whose clock is late", url, name); err != nil {
		return err
	}
	return mailer.check(ctx)
}

func oneMachine(ctx context.Context, who, url, name string) error {
	m, err := newMachine(who, url, name)
	if err != nil {
		return err
	}
	defer m.close()
	return m.twoOClock(ctx)
}

// machine is one of the machines with the job in their crontab: a process of its own.
type machine struct {
	who, name string
	rdb       *redis.Client // has the books as well: any database would do
	client    *rlock.Client
	lock      *rlock.Lock
	closed    *latch.Latch
}

func newMachine(who, url, name string) (*machine, error) {
	opts, err := redis.ParseURL(url)
	if err != nil { // its text has the password
		return nil, errors.New(urlEnv + " is no URL: special characters of a password are written %XX")
	}
	rdb := redis.NewClient(opts)
	// Here it is intended that machines wait for one another, so nothing need be logged.
	client, err := rlock.NewClient(rdb, &rlock.ClientOptions{
		Lease: lease, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		return nil, errors.Join(err, rdb.Close())
	}
	return &machine{
		who, name, rdb, client, rlock.New(client, name), latch.New(client, name+":closed"),
	}, nil
}

func (m *machine) close() {
	_ = m.client.Close()
	_ = m.rdb.Close()
}

// twoOClock is what cron starts on every machine. The lock makes sure that one machine runs at a time,
// and the record written when the job is done makes sure that it runs once: with only a lock the second
// machine would run it after the first.
func (m *machine) twoOClock(ctx context.Context) error {
	return m.lock.Do(ctx, func(ctx context.Context) error {
		done, err := m.rdb.Exists(ctx, m.name+":done").Result()
		if err != nil {
			return err
		}
		if done == 1 {
			fmt.Println(m.who, "finds it done")
			return nil
		}
		if err := m.closeTheBooks(ctx); err != nil {
			return err
		}
		if err := m.rdb.Set(ctx, m.name+":done", m.who, patience).Err(); err != nil {
			return err
		}
		return m.closed.CountDown(ctx)
	})
}

// closeTheBooks is the job. It checks its context between its steps, because the context ends when the
// lock is lost, and another machine may hold the lock then.
func (m *machine) closeTheBooks(ctx context.Context) error {
	fmt.Println(m.who, "closes the books")
	for range 5 {
		select {
		case <-time.After(100 * time.Millisecond):
		case <-ctx.Done():
			return context.Cause(ctx)
		}
	}
	if err := m.rdb.Incr(ctx, m.name+":times").Err(); err != nil {
		return err
	}
	fmt.Println(m.who, "has closed the books")
	return nil
}

// check verifies that the job ran once. An application does not need it.
func (m *machine) check(ctx context.Context) error {
	times, err := m.rdb.GetDel(ctx, m.name+":times").Int()
	if err != nil {
		return err
	}
	if times != 1 {
		return fmt.Errorf("the books were closed %d times", times)
	}
	fmt.Println("the books were closed once")
	return nil
}
