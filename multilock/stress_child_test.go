package multilock_test

import (
	"bufio"
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"os"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/testkit/stamp"
	"github.com/holdfast-go/holdfast/multilock"
	"github.com/holdfast-go/holdfast/rlock"
)

const (
	stressAddr    = "HOLDFAST_MULTILOCK_ADDR"
	stressFor     = "HOLDFAST_MULTILOCK_FOR"
	stressNames   = 8
	stressCallers = 17
	stressLease   = 3 * time.Second
)

func init() { roles["stress"] = stressChild }

// stressChild takes random sets of locks from many goroutines until its time is over, and then, from each, once more,
// when no error is allowed. It prints a line per hold of a name: the name's number, when it began and stopped to
// treat the hold as live, and the fencing token.
func stressChild() {
	span, err := time.ParseDuration(os.Getenv(stressFor))
	if err != nil {
		panic(err)
	}
	rdb := redis.NewClient(&redis.Options{Addr: os.Getenv(stressAddr)})
	client, err := rlock.NewClient(rdb, &rlock.ClientOptions{
		Lease: stressLease, Logger: slog.New(slog.DiscardHandler),
	})
	if err != nil {
		panic(err)
	}
	out := &stressLog{to: bufio.NewWriter(os.Stdout)}
	var wg sync.WaitGroup
	for caller := range stressCallers {
		wg.Go(func() { stressCaller(client, out, span, caller) })
	}
	wg.Wait()
	out.say("healed")
	bufio.NewScanner(os.Stdin).Scan() // the parent has healed everything
	for range stressCallers {
		wg.Go(func() {
			if err := stressTurn(client, out); err != nil {
				out.say("failed %v", err)
			}
		})
	}
	wg.Wait()
	if err := client.Close(); err != nil {
		out.say("failed %v", err)
	}
	out.say("done")
	_ = rdb.Close()
}

func stressCaller(client *rlock.Client, out *stressLog, span time.Duration, caller int) {
	for began := time.Now(); time.Since(began) < span; {
		err := stressTurn(client, out)
		switch {
		case err == nil, errors.Is(err, rlock.ErrUnavailable), errors.Is(err, rlock.ErrLost),
			errors.Is(err, rlock.ErrUnconfirmed):
		case errors.Is(err, rlock.ErrBusy) && errors.Is(err, context.DeadlineExceeded):
		default:
			out.say("failed caller %d: %v", caller, err)
		}
	}
}

// stressTurn takes two to five of the names at random, in a random order.
func stressTurn(client *rlock.Client, out *stressLog) error {
	picked := rand.Perm(stressNames)[:2+rand.IntN(4)]
	all := make([]*rlock.Lock, len(picked))
	for i, n := range picked {
		all[i] = rlock.New(client, stressName(n))
	}
	ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
	defer cancel()
	m := multilock.New(all)
	held, unlock, err := m.Lock(ctx)
	began := stamp.Now()
	if err != nil {
		return err
	}
	holds, err := m.Held(held)
	if err == nil {
		select {
		case <-time.After(time.Duration(rand.IntN(2000)) * time.Microsecond):
		case <-held.Done():
		}
	}
	ended := stamp.Now()
	if cause := context.Cause(held); cause != nil && err == nil {
		err = cause // it ended before the stamp: the reported time would be too long
	}
	if err == nil {
		for i, n := range picked {
			out.say("held %d %d %d %d", n, began, ended, holds[i].Fence)
		}
	}
	return errors.Join(err, unlock())
}

func stressName(n int) string { return fmt.Sprintf("stress:%d", n) }

type stressLog struct {
	mu sync.Mutex
	to *bufio.Writer
}

func (l *stressLog) say(format string, args ...any) {
	l.mu.Lock()
	defer l.mu.Unlock()
	fmt.Fprintf(l.to, format+"\n", args...)
	l.to.Flush()
}
