package multilock_test

import (
	"context"
	"errors"
	"fmt"
	"log/slog"
	"math/rand/v2"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/testkit/role"
	"github.com/holdfast-go/holdfast/internal/testkit/stamp"
	"github.com/holdfast-go/holdfast/internal/testkit/witness"
	"github.com/holdfast-go/holdfast/multilock"
	"github.com/holdfast-go/holdfast/rlock"
)

const (
	stressNames   = 8
	stressCallers = 17
	stressLease   = 3 * time.Second
)

// stressOrders are what a process is told.
type stressOrders struct {
	Addr string
	Span time.Duration
}

// stress is a process that takes random sets of locks from many goroutines until its time is over, and then, from
// each, once more, when no error is allowed. It tells every hold of a name: when it began and stopped to treat it as live.
var stress = role.New("stress", func(o stressOrders) {
	rdb := redis.NewClient(&redis.Options{Addr: o.Addr})
	client, err := rlock.NewClient(rdb, &rlock.ClientOptions{
		Lease: stressLease, Logger: slog.New(slog.DiscardHandler),
	})
	role.Check(err)
	var wg sync.WaitGroup
	for range stressCallers {
		wg.Go(func() { stressCaller(client, o.Span) })
	}
	wg.Wait()
	fmt.Println("healed")
	role.Told() // the parent has healed everything
	for range stressCallers {
		wg.Go(func() {
			role.Check(stressTurn(client))
		})
	}
	wg.Wait()
	role.Check(client.Close())
	fmt.Println("done")
	_ = rdb.Close()
})

func stressCaller(client *rlock.Client, span time.Duration) {
	for began := time.Now(); time.Since(began) < span; {
		err := stressTurn(client)
		switch {
		case err == nil, errors.Is(err, rlock.ErrUnavailable), errors.Is(err, rlock.ErrLost),
			errors.Is(err, rlock.ErrUnconfirmed):
		case errors.Is(err, rlock.ErrBusy) && errors.Is(err, context.DeadlineExceeded):
		default:
			role.Check(err)
		}
	}
}

// stressTurn takes two to five of the names at random, in a random order.
func stressTurn(client *rlock.Client) error {
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
			witness.Hold{Name: stressName(n), From: began, To: ended, Fence: holds[i].Fence}.Tell()
		}
	}
	return errors.Join(err, unlock())
}

func stressName(n int) string { return fmt.Sprintf("stress:%d", n) }
