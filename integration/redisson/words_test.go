package redisson_test

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/fairlock"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/multilock"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/rwlock"
	"github.com/holdfast-go/holdfast/semaphore"
)

// theirs is what a Java thread holds, and a call of ours that it is in the way of.
type theirs struct {
	name    string
	take    string
	with    []string // after the lock's name
	unlock  string
	attempt func(c *rlock.Client, name string, opts ...rlock.Option) func(context.Context) error
}

func locking(make func(*rlock.Client, string, ...rlock.Option) *rlock.Lock) func(
	*rlock.Client, string, ...rlock.Option) func(context.Context) error {
	return func(c *rlock.Client, name string, opts ...rlock.Option) func(context.Context) error {
		lock := make(c, name, opts...)
		return func(ctx context.Context) error {
			_, _, err := lock.Lock(ctx)
			return err
		}
	}
}

func reader(c *rlock.Client, name string, opts ...rlock.Option) *rlock.Lock {
	return rwlock.New(c, name, opts...).Read()
}

func writer(c *rlock.Client, name string, opts ...rlock.Option) *rlock.Lock {
	return rwlock.New(c, name, opts...).Write()
}

func aSet(c *rlock.Client, name string, opts ...rlock.Option) func(context.Context) error {
	set := multilock.New([]*rlock.Lock{rlock.New(c, name), rlock.New(c, name+":b")}, opts...)
	return func(ctx context.Context) error {
		_, _, err := set.Lock(ctx)
		return err
	}
}

func aPermit(c *rlock.Client, name string, opts ...rlock.Option) func(context.Context) error {
	s := semaphore.New(c, name, opts...)
	return func(ctx context.Context) error {
		_, _, err := s.Acquire(ctx, 1)
		return err
	}
}

// However a call ends that Java's hold was in the way of, and however many end at one instant: Redis answered, and they
// are told that the lock is busy (defect G1). The store in memory is asked the same of more.
func TestCallersThatGiveUpBehindJavaAreToldThatItIsBusy(t *testing.T) {
	t.Parallel()
	_, j, g := one(t, javaOptions{}, rlock.ClientOptions{})
	for _, of := range []theirs{
		{"lock", "lock", nil, "unlock", locking(rlock.New)},
		{"a set", "lock", nil, "unlock", aSet},
		{"fair", "fair.lock", nil, "fair.unlock", locking(fairlock.New)},
		{"a reader behind a writer", "rw.write.lock", nil, "rw.write.unlock", locking(reader)},
		{"a writer behind a reader", "rw.read.lock", nil, "rw.read.unlock", locking(writer)},
		{"a permit", "permit.acquire", []string{"1", hour}, "permit.release", aPermit},
	} {
		t.Run(of.name, func(t *testing.T) {
			t.Parallel()
			name := "words:" + strings.ReplaceAll(of.name, " ", "-")
			a := j.thread(name)
			if of.unlock == "permit.release" {
				a.do("permit.set", name, "1")
			}
			held := a.do(of.take, append([]string{name}, of.with...)...)
			for _, n := range []int{1, 50} {
				for _, end := range []string{"deadline", "cancelled", "MaxWait"} {
					giveUpAtOnce(t, g, of, name, n, end)
				}
			}
			if of.unlock == "permit.release" {
				a.do(of.unlock, name, held)
			} else {
				a.do(of.unlock, name)
			}
		})
	}
}

// giveUpAtOnce has n callers wait, and end at one instant in one way.
func giveUpAtOnce(t *testing.T, g *goSide, of theirs, name string, n int, end string) {
	t.Helper()
	at := time.Now().Add(2 * time.Second)
	ctx, cancel := context.WithCancel(context.Background())
	var opts []rlock.Option
	switch end {
	case "deadline":
		ctx, cancel = context.WithDeadline(context.Background(), at)
	case "cancelled":
		time.AfterFunc(time.Until(at), cancel)
	case "MaxWait":
		opts = append(opts, rlock.MaxWait(time.Until(at)))
	}
	defer cancel()
	told := make(chan error, n)
	for range n {
		call := of.attempt(g.client, name, opts...)
		go func() { told <- call(ctx) }()
	}
	for range n {
		err := redistest.Receive(t, limit, told, "a caller does not give up")
		require.ErrorIs(t, err, rlock.ErrBusy, "%s, %d callers, %s", of.name, n, end)
		require.NotErrorIs(t, err, rlock.ErrUnavailable, "%s, %d callers, %s", of.name, n, end)
	}
}
