// Command nightly runs a job that is due at two o'clock on several machines, whose clocks differ, and that must run
// once a night. One of them runs it and the others skip it, a machine whose clock is late as well, although the job is
// over by its two o'clock. In the second night the machine that runs the job dies, and the late one makes up for it.
// The program exits non-zero if any check fails.
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
	"os"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/rlock"
)

const (
	// minHold is how long the lock is kept, however short the job is: for longer than the clocks of the machines
	// differ, and for less than the time until the job is due again. An hour is good for a job that is due once a
	// night; this night is over in seconds.
	minHold = 5 * time.Second

	// lease is how long the lock of a machine that died stays. It is short, so that the wait can be watched; the
	// default is 30 s.
	lease = time.Second

	// patience bounds the whole run; no step takes anywhere near as long.
	patience = time.Minute
)

const (
	urlEnv  = "REDIS_URL"
	nameEnv = "NIGHTLY_NAME" // set for the machine that dies
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	run := nights
	if os.Getenv(nameEnv) != "" {
		run = doomed
	}
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "FAILED:", err)
		os.Exit(1)
	}
}

// nights are two nights of four machines: in the first one all is well, in the second one a machine dies.
func nights(ctx context.Context) (err error) {
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
	name := "close-the-books:" + uuid.NewString()[:8]

	var machines []*machine
	for _, who := range []string{"machine A", "machine B", "machine C", "the machine whose clock is late"} {
		m, err := newMachine(who, url, name)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, m.close()) }()
		machines = append(machines, m)
	}
	punctual, late := machines[:3], machines[3]

	if err := twoOClock(ctx, punctual); err != nil {
		return err
	}
	if err := late.run(ctx); err != nil {
		return err
	}
	if err := late.closedTheBooks(ctx, 1); err != nil {
		return err
	}

	time.Sleep(minHold) // the next day
	if err := dies(ctx, url, name, punctual); err != nil {
		return err
	}
	time.Sleep(2 * lease) // by now the lock of the dead machine is free; its clock is that late
	if err := late.run(ctx); err != nil {
		return err
	}
	return late.closedTheBooks(ctx, 2)
}

// twoOClock has the job due on some machines at the same time.
func twoOClock(ctx context.Context, machines []*machine) (err error) {
	results := make(chan error)
	for _, m := range machines {
		go func() { results <- m.run(ctx) }()
	}
	for range machines {
		err = errors.Join(err, <-results)
	}
	return err
}

// machine is one of the machines with the job in their crontab: a process of its own.
type machine struct {
	who, name string
	rdb       *redis.Client // has the books as well: any database would do
	client    *rlock.Client
	lock      *rlock.Lock
}

func newMachine(who, url, name string) (*machine, error) {
	opts, err := redis.ParseURL(url)
	if err != nil { // its text has the password
		return nil, errors.New(urlEnv + " is no URL: special characters of a password are written %XX")
	}
	rdb := redis.NewClient(opts)
	client, err := rlock.NewClient(rdb, &rlock.ClientOptions{Lease: lease})
	if err != nil {
		return nil, errors.Join(err, rdb.Close())
	}
	return &machine{who, name, rdb, client, rlock.New(client, name, rlock.MinHold(minHold))}, nil
}

func (m *machine) close() error { return errors.Join(m.client.Close(), m.rdb.Close()) }

// run is what cron starts on every machine. TryLock does not wait: a machine that waited for the lock would run the job
// when another has done it. MinHold retains the lock when the job is over: without it the machine whose clock is late
// would find the lock free, and run the job again.
func (m *machine) run(ctx context.Context) error {
	ctx, unlock, err := m.lock.TryLock(ctx)
	if errors.Is(err, rlock.ErrBusy) {
		fmt.Println(m.who, "skips it: it runs elsewhere, or has just run")
		return nil
	}
	if err != nil {
		return err
	}
	return errors.Join(m.closeTheBooks(ctx), unlock()) // unlock returns at once; Redis keeps the lock
}

// closeTheBooks is the job. It looks at its context between its steps, because the context ends when the lock is lost,
// and another machine may hold the lock then.
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

// closedTheBooks checks that the job ran once in each night. An application does not need it.
func (m *machine) closedTheBooks(ctx context.Context, nights int) error {
	times, err := m.rdb.GetEx(ctx, m.name+":times", patience).Int()
	if err != nil {
		return err
	}
	if times != nights {
		return fmt.Errorf("in %d nights the books were closed %d times", nights, times)
	}
	fmt.Println("The books were closed once that night.")
	return nil
}
