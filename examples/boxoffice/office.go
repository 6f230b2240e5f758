package main

import (
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"sync/atomic"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/errgroup"

	"github.com/holdfast-go/holdfast/fairlock"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/rwlock"
	"github.com/holdfast-go/holdfast/semaphore"
)

const (
	shows    = 3
	windows  = 6 // that sell
	printers = 2
	hurried  = 5 * time.Millisecond // how long the hurried wait
	soldFor  = time.Hour            // how long Redis keeps what is sold
)

// office is one process of those that sell.
type office struct {
	rdb    *redis.Client
	client *rlock.Client
	sold   atomic.Int64
}

func newOffice(rdb *redis.Client, client *rlock.Client) *office {
	return &office{rdb: rdb, client: client}
}

// sell has everybody work until ctx ends. Its error is the first that says that a lock did not do what it should.
func (o *office) sell(ctx context.Context) error {
	if err := semaphore.New(o.client, "box:printers").SetCapacity(ctx, printers); err != nil {
		return err
	}
	all, ctx := errgroup.WithContext(ctx)
	work := func(task func(context.Context) error) {
		all.Go(func() error {
			for ctx.Err() == nil {
				if err := task(ctx); err != nil && !expected(err) {
					return err
				}
				pause(ctx, 20*time.Millisecond)
			}
			return nil
		})
	}
	for range windows {
		work(o.window)
	}
	work(o.hurry)
	work(o.price)
	work(o.clean)
	work(o.till)
	work(o.inspector)
	return all.Wait()
}

// expected says whether an error is one of those that happen to every office.
func expected(err error) bool {
	for _, usual := range []error{
		rlock.ErrBusy, rlock.ErrLost, rlock.ErrUnavailable, rlock.ErrUnconfirmed,
		context.Canceled, context.DeadlineExceeded,
	} {
		if errors.Is(err, usual) {
			return true
		}
	}
	return false
}

// pause waits for a random time of that mean.
func pause(ctx context.Context, mean time.Duration) {
	select {
	case <-ctx.Done():
	case <-time.After(rand.N(2 * mean)):
	}
}

// window sells the next seat of a show, in the order in which the customers came, and prints the ticket.
func (o *office) window(ctx context.Context) error {
	show := fmt.Sprint("show:", rand.IntN(shows)+1)
	return fairlock.New(o.client, show).Do(ctx, func(ctx context.Context) error {
		seat, err := o.rdb.Get(ctx, show+":seats").Int()
		if err != nil && !errors.Is(err, redis.Nil) {
			return err
		}
		pause(ctx, 2*time.Millisecond) // the customer finds the money
		if err := context.Cause(ctx); err != nil {
			return err
		}
		seat++
		if err := o.rdb.Set(ctx, show+":seats", seat, soldFor).Err(); err != nil {
			return err
		}
		first, err := o.rdb.SetNX(ctx, fmt.Sprint(show, ":sold:", seat), 1, soldFor).Result()
		if err != nil {
			return err
		}
		if !first {
			return fmt.Errorf("seat %d of %s was sold twice", seat, show)
		}
		o.sold.Add(1)
		return semaphore.New(o.client, "box:printers").Do(ctx, 1, func(ctx context.Context) error {
			pause(ctx, 5*time.Millisecond)
			return nil
		})
	})
}

// hurry is a customer who leaves when it takes too long.
func (o *office) hurry(ctx context.Context) error {
	ctx, leave := context.WithTimeout(ctx, hurried)
	defer leave()
	return o.window(ctx)
}

// price reads the prices, and now and then changes them.
func (o *office) price(ctx context.Context) error {
	prices := rwlock.New(o.client, "box:prices")
	which := prices.Read()
	if rand.IntN(10) == 0 {
		which = prices.Write()
	}
	return which.Do(ctx, func(ctx context.Context) error {
		pause(ctx, 10*time.Millisecond)
		return nil
	})
}

// clean cleans the hall, unless somebody does.
func (o *office) clean(ctx context.Context) error {
	ctx, unlock, err := rlock.New(o.client, "hall:1:clean").TryLock(ctx)
	if err != nil {
		return err
	}
	pause(ctx, 100*time.Millisecond)
	return unlock()
}

// till counts the money, which takes longer than a lease.
func (o *office) till(ctx context.Context) error {
	return rlock.New(o.client, "till:1").Do(ctx, func(ctx context.Context) error {
		select {
		case <-ctx.Done():
		case <-time.After(2 * lease):
		}
		return context.Cause(ctx)
	})
}

// inspector takes the till away from the clerk that counts: a loss, which the alert reports.
func (o *office) inspector(ctx context.Context) error {
	select {
	case <-ctx.Done():
		return nil
	case <-time.After(lease):
	}
	if err := rlock.New(o.client, "till:1").Break(ctx); !errors.Is(err, rlock.ErrNotHeld) {
		return err
	}
	return nil // nobody counted just then
}
