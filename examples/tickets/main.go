// Command tickets sells seats to people who queue at a window, each a process of its own. They are served in
// the order in which they came, wherever they run. One of them is killed in the queue and one walks away;
// the others keep their places. It exits non-zero if any check fails.
//
//	go run ./examples/tickets
//	REDIS_URL=redis://localhost:6379 go run ./examples/tickets
//
// Without REDIS_URL it starts a Redis-compatible server in this process.
package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"time"

	"github.com/alicebob/miniredis/v2"
	"github.com/google/uuid"
	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/fairlock"
	"github.com/holdfast-go/holdfast/rlock"
)

// patience bounds the whole run; no step takes anywhere near as long.
const patience = time.Minute

const urlEnv = "REDIS_URL"

func main() {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	defer cancel()
	run := window
	if os.Getenv(personEnv) != "" {
		run = person
	}
	if err := run(ctx); err != nil {
		fmt.Fprintln(os.Stderr, "FAILED:", err)
		os.Exit(1)
	}
}

// window opens when six people queue, two of whom do not stay.
func window(ctx context.Context) (err error) {
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
	name := "tickets:" + uuid.NewString()[:8]
	show, err := open(url, name)
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, show.close()) }()

	// The holder of the lock is the person at the window. Until the window opens, this process holds it.
	held, unlock, err := show.queue.Lock(ctx)
	if err != nil {
		return err
	}
	var people []*visitor
	for _, who := range []string{"Ada", "Ben", "Cem", "Dora", "Emil", "Fay"} {
		v, err := arrive(held, url, name, who)
		if err != nil {
			return err
		}
		defer v.kill()
		people = append(people, v)
		if err := show.line(held, len(people)); err != nil {
			return err
		}
		fmt.Println(who, "queues; in the queue now:", len(people))
	}
	fmt.Println("Cem's phone dies in the queue")
	people[2].kill()
	fmt.Println("Emil walks away")
	people[4].leave()
	fmt.Println("the window opens")
	if err := unlock(); err != nil {
		return err
	}
	return show.sold(ctx, people)
}

// box sells the seats: the queue, and a number in Redis that is read and written in two steps.
type box struct {
	rdb    *redis.Client
	client *rlock.Client
	queue  *rlock.Lock
	seats  string
}

func open(url, name string) (*box, error) {
	opts, err := redis.ParseURL(url)
	if err != nil { // its text has the password
		return nil, errors.New(urlEnv + " is no URL: special characters of a password are written %XX")
	}
	rdb := redis.NewClient(opts)
	client, err := rlock.NewClient(rdb, nil)
	if err != nil {
		return nil, errors.Join(err, rdb.Close())
	}
	return &box{rdb, client, fairlock.New(client, name), name + ":seats"}, nil
}

func (b *box) close() error { return errors.Join(b.client.Close(), b.rdb.Close()) }

// line waits until that many people queue, in all processes.
func (b *box) line(ctx context.Context, people int) error {
	for {
		info, err := b.queue.Inspect(ctx)
		if err != nil {
			return err
		}
		if info.Waiters == people {
			return nil
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("%d stand in the queue, not %d: %w", info.Waiters, people, context.Cause(ctx))
		case <-time.After(10 * time.Millisecond):
		}
	}
}

// sell gives the next seat to the person at the window.
func (b *box) sell(ctx context.Context) (seat int, err error) {
	err = b.queue.Do(ctx, func(ctx context.Context) error {
		seat, err = b.rdb.Get(ctx, b.seats).Int()
		if err != nil && !errors.Is(err, redis.Nil) {
			return err
		}
		seat++
		return b.rdb.Set(ctx, b.seats, seat, patience).Err()
	})
	return seat, err
}

// sold waits for the people who stayed, and checks that their seats match their places.
func (b *box) sold(ctx context.Context, people []*visitor) error {
	var served []string
	for i, v := range people {
		if v.gone {
			continue
		}
		seat, err := v.seat(ctx)
		if err != nil {
			return err
		}
		fmt.Println(v.who, "has seat", seat)
		served = append(served, v.who)
		if want := len(served); seat != want {
			return fmt.Errorf("%s, number %d in the queue, has seat %d instead of %d", v.who, i+1, seat, want)
		}
	}
	if want := []string{"Ada", "Ben", "Dora", "Fay"}; !slices.Equal(served, want) {
		return fmt.Errorf("served were %v, not %v", served, want)
	}
	fmt.Println("everybody who stayed was served in the order of arrival")
	return nil
}
