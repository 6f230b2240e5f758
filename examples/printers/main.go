// Command printers shares three printers among the computers of an office: however many want to print, at
// most three documents are printed at a time, and a computer that is switched off in the middle of a
// document gives its printer back. It exits non-zero if any check fails.
//
//	go run ./examples/printers
//	REDIS_URL=redis://localhost:6379 go run ./examples/printers
//
// Without REDIS_URL it starts a Redis-compatible server in this process.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"sync"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/semaphore"
)

const (
	printers = 3

	// lease is how long a printer stays taken by a dead computer. It is short, so that the wait can be
	// watched; the default is 30 s.
	lease = time.Second

	// patience bounds the whole run; no step takes anywhere near as long.
	patience = time.Minute
)

const (
	urlEnv  = "REDIS_URL"
	nameEnv = "PRINTERS_NAME" // set for the computer that is switched off
)

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	run := office
	if os.Getenv(nameEnv) != "" {
		run = doomed
	}
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "FAILED:", err)
		os.Exit(1)
	}
}

// office prints ten documents on two computers, while a third one is switched off.
func office(ctx context.Context) (err error) {
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
	name := "printers:" + uuid.NewString()[:8]

	room := &room{}
	var computers []*computer
	for _, who := range []string{"Ada's", "Ben's"} {
		c, err := newComputer(who, url, name, room)
		if err != nil {
			return err
		}
		defer func() { err = errors.Join(err, c.close()) }()
		computers = append(computers, c)
	}
	// Every computer may set the number of printers, because it is absolute.
	if err := computers[0].pool.SetCapacity(ctx, printers); err != nil {
		return err
	}
	if err := switchedOff(ctx, url, name); err != nil {
		return err
	}

	results := make(chan error)
	for document := range 10 {
		go func() { results <- computers[document%2].print(ctx, document) }()
	}
	for range 10 {
		err = errors.Join(err, <-results)
	}
	if err != nil {
		return err
	}
	return room.check()
}

// computer is one of the computers that print: a process of its own.
type computer struct {
	who    string
	rdb    *redis.Client
	client *rlock.Client
	pool   *semaphore.Semaphore
	room   *room
}

func newComputer(who, url, name string, room *room) (*computer, error) {
	opts, err := redis.ParseURL(url)
	if err != nil { // its text has the password
		return nil, errors.New(urlEnv + " is no URL: special characters of a password are written %XX")
	}
	rdb := redis.NewClient(opts)
	client, err := rlock.NewClient(rdb, &rlock.ClientOptions{Lease: lease})
	if err != nil {
		return nil, errors.Join(err, rdb.Close())
	}
	return &computer{who, rdb, client, semaphore.New(client, name), room}, nil
}

func (c *computer) close() error { return errors.Join(c.client.Close(), c.rdb.Close()) }

// print waits for a printer and prints.
func (c *computer) print(ctx context.Context, document int) error {
	return c.pool.Do(ctx, 1, func(ctx context.Context) error {
		busy := c.room.enter()
		defer c.room.leave()
		fmt.Printf("%s computer prints document %d; %d of %d printers are busy here\n",
			c.who, document, busy, printers)
		select {
		case <-time.After(300 * time.Millisecond): // shorter than a lease
			return nil
		case <-ctx.Done(): // the permit is lost, and another computer may use the printer
			return context.Cause(ctx)
		}
	})
}

// room holds the printers. An application does not need it: it checks that the limit is kept.
type room struct {
	mu        sync.Mutex // guards all below
	busy      int
	most      int
	documents int
}

func (r *room) enter() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.busy++
	r.documents++
	r.most = max(r.most, r.busy)
	return r.busy
}

func (r *room) leave() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.busy--
}

func (r *room) check() error {
	if r.most != printers {
		return fmt.Errorf("at most %d printers were busy at a time, of %d", r.most, printers)
	}
	fmt.Printf("%d documents were printed, and never more than %d at a time\n", r.documents, r.most)
	return nil
}
