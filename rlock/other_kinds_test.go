package rlock_test

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/fairlock"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/latch"
	"github.com/holdfast-go/holdfast/multilock"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/rwlock"
	"github.com/holdfast-go/holdfast/semaphore"
)

// manyKinds are the ways to ask for a name, by kind. A call that takes something gives it back.
var manyKinds = map[string]func(ctx context.Context, c *rlock.Client, name string) error{
	"lock": func(ctx context.Context, c *rlock.Client, name string) error {
		return kindTaken(rlock.New(c, name).Lock(ctx))
	},
	"try": func(ctx context.Context, c *rlock.Client, name string) error {
		return kindTaken(rlock.New(c, name).TryLock(ctx))
	},
	"fair": func(ctx context.Context, c *rlock.Client, name string) error {
		return kindTaken(fairlock.New(c, name).Lock(ctx))
	},
	"fair try": func(ctx context.Context, c *rlock.Client, name string) error {
		return kindTaken(fairlock.New(c, name).TryLock(ctx))
	},
	"read": func(ctx context.Context, c *rlock.Client, name string) error {
		return kindTaken(rwlock.New(c, name).Read().Lock(ctx))
	},
	"read try": func(ctx context.Context, c *rlock.Client, name string) error {
		return kindTaken(rwlock.New(c, name).Read().TryLock(ctx))
	},
	"write": func(ctx context.Context, c *rlock.Client, name string) error {
		return kindTaken(rwlock.New(c, name).Write().Lock(ctx))
	},
	"write try": func(ctx context.Context, c *rlock.Client, name string) error {
		return kindTaken(rwlock.New(c, name).Write().TryLock(ctx))
	},
	"permit": func(ctx context.Context, c *rlock.Client, name string) error {
		return kindTaken(semaphore.New(c, name).Acquire(ctx, 1))
	},
	"permit try": func(ctx context.Context, c *rlock.Client, name string) error {
		return kindTaken(semaphore.New(c, name).TryAcquire(ctx, 1))
	},
	"count": func(ctx context.Context, c *rlock.Client, name string) error {
		return semaphore.NewCounting(c, name).Acquire(ctx, 1)
	},
	"count try": func(ctx context.Context, c *rlock.Client, name string) error {
		return semaphore.NewCounting(c, name).TryAcquire(ctx, 1)
	},
	"latch": func(ctx context.Context, c *rlock.Client, name string) error {
		return latch.New(c, name).Wait(ctx)
	},
	"set": func(ctx context.Context, c *rlock.Client, name string) error {
		return kindTaken(kindSet(c, name).Lock(ctx))
	},
	"set try": func(ctx context.Context, c *rlock.Client, name string) error {
		return kindTaken(kindSet(c, name).TryLock(ctx))
	},
}

// kindSet is a set of which the name is one member.
func kindSet(c *rlock.Client, name string) *multilock.Lock {
	return multilock.New([]*rlock.Lock{rlock.New(c, name), rlock.New(c, name+":other")})
}

func kindTaken(_ context.Context, unlock func() error, err error) error {
	if err == nil {
		err = unlock()
	}
	return err
}

// kindTenants are what may be at the name: a hold, or a number that somebody set.
var kindTenants = map[string]func(t *testing.T, c *rlock.Client, name string){
	"nothing": func(*testing.T, *rlock.Client, string) {},
	"lock":    kindHold(func(c *rlock.Client, name string) *rlock.Lock { return rlock.New(c, name) }),
	"fair":    kindHold(func(c *rlock.Client, name string) *rlock.Lock { return fairlock.New(c, name) }),
	"read":    kindHold(func(c *rlock.Client, name string) *rlock.Lock { return rwlock.New(c, name).Read() }),
	"write":   kindHold(func(c *rlock.Client, name string) *rlock.Lock { return rwlock.New(c, name).Write() }),
	"set": func(t *testing.T, c *rlock.Client, name string) {
		_, _, err := kindSet(c, name).Lock(conductCtx(t))
		require.NoError(t, err)
	},
	"permit": func(t *testing.T, c *rlock.Client, name string) {
		s := semaphore.New(c, name)
		require.NoError(t, s.SetCapacity(conductCtx(t), 1))
		_, _, err := s.Acquire(conductCtx(t), 1)
		require.NoError(t, err)
	},
	"count": func(t *testing.T, c *rlock.Client, name string) {
		require.NoError(t, semaphore.NewCounting(c, name).Set(conductCtx(t), 3))
	},
	"latch": func(t *testing.T, c *rlock.Client, name string) {
		require.NoError(t, latch.New(c, name).Set(conductCtx(t), 3))
	},
}

func kindHold(lock func(c *rlock.Client, name string) *rlock.Lock) func(*testing.T, *rlock.Client, string) {
	return func(t *testing.T, c *rlock.Client, name string) {
		_, _, err := lock(c, name).Lock(conductCtx(t))
		require.NoError(t, err)
	}
}

// kindWaiters are, for each tenant, the calls that have to wait for it.
var kindWaiters = map[string][]string{
	"nothing": {"permit"},
	"lock":    {"lock", "fair", "set"}, "fair": {"lock", "fair", "set"}, "set": {"lock", "fair", "set"},
	"read": {"write"}, "write": {"read", "write"},
	"permit": {"permit"}, "count": nil, "latch": {"latch"},
}

// kindAnswer is what a call is told, as far as its caller can act on it.
func kindAnswer(err error) string {
	var argument *rlock.ArgumentError
	switch {
	case err == nil:
		return "granted"
	case errors.Is(err, rlock.ErrKeyConflict):
		return "conflict"
	case errors.Is(err, rlock.ErrBusy), errors.Is(err, context.DeadlineExceeded): // it waited, or would have to
		return "busy"
	case errors.As(err, &argument):
		return "argument: " + argument.Name
	default:
		return err.Error()
	}
}

// Defect G58: whatever is at a name, and whoever waits for it, a client of the process that has it is told what another client
// is told, whose calls the store answers. With another kind of lock that is ErrKeyConflict, and at once: it used to
// wait for as long as that was held, and TryLock said ErrBusy.
func TestOtherKindsAtANameAreToldToTheirOwnClientToo(t *testing.T) {
	t.Parallel()
	var all sync.WaitGroup
	room := make(chan struct{}, 8)
	for tenant := range kindTenants {
		for _, elsewhere := range []bool{false, true} {
			for _, waiter := range append(kindWaiters[tenant], "") {
				if tenant == "nothing" && (elsewhere || waiter == "") {
					continue
				}
				for asks := range manyKinds {
					room <- struct{}{}
					all.Go(func() {
						defer func() { <-room }()
						kindPair(t, tenant, waiter, asks, elsewhere)
					})
				}
			}
		}
	}
	all.Wait()
}

// kindPair compares what two clients are told of one name. The first of them has the tenant there, unless that is
// elsewhere, and the waiter, if there is one.
func kindPair(t *testing.T, tenant, waiter, asks string, elsewhere bool) {
	pair := fmt.Sprintf("tenant %s, elsewhere %v, waiter %s, asks %s", tenant, elsewhere, waiter, asks)
	addr, name := redistest.Shared(t).Addr(), redistest.Key(t)+strings.ReplaceAll(pair, " ", "-")
	own, other := conductClient(t, addr, nil), conductClient(t, addr, nil)
	holder := own
	if elsewhere {
		holder = conductClient(t, addr, nil)
	}
	kindTenants[tenant](t, holder, name)
	if waiter != "" {
		ctx, cancel := context.WithCancel(context.Background())
		ended := make(chan struct{})
		go func() { defer close(ended); _ = manyKinds[waiter](ctx, own, name) }()
		defer func() { cancel(); <-ended }()
		redistest.Eventually(t, conductLimit, func() bool { return own.Stats().Waiters == 1 }, pair)
	}
	ask := func(c *rlock.Client) string {
		for wait := kindWait; ; wait *= 2 {
			ctx, cancel := context.WithTimeout(context.Background(), wait)
			err := manyKinds[asks](ctx, c, name)
			cancel()
			if !errors.Is(err, rlock.ErrUnavailable) || wait > conductLimit { // the store has answered
				return kindAnswer(err)
			}
		}
	}
	mine := ask(own)
	assert.Equal(t, ask(other), mine, pair)
}

// kindWait is how long a call waits that is not answered at once. An answer of the store is there much earlier.
const kindWait = time.Second
