package integration_test

import (
	"context"
	"strconv"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/fairlock"
	"github.com/holdfast-go/holdfast/internal/keys"
	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/latch"
	"github.com/holdfast-go/holdfast/multilock"
	"github.com/holdfast-go/holdfast/redlock"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/rwlock"
	"github.com/holdfast-go/holdfast/semaphore"
)

// aclExclusive lives the life of an exclusive lock: it is found free, taken, nested for long enough that Redis is told
// the count, renewed, looked at, waited for, released, moved and broken.
func aclExclusive(a *aclTrial, here, there *rlock.Lock) {
	_, unlock, err := there.TryLock(a.within())
	a.ok(err)
	a.ok(unlock())

	ctx, unlock, err := here.Lock(a.within())
	a.ok(err)
	inner, leave, err := here.Lock(ctx)
	a.ok(err)
	_, _, err = there.TryLock(a.within())
	require.ErrorIs(a, err, rlock.ErrBusy)
	info, err := there.Inspect(inner)
	a.ok(err)
	require.Equal(a, 1, info.Held)
	a.happens(a.renewed, "a renewal")
	waiter := a.waiting(func(ctx context.Context) error {
		_, unlock, err := there.Lock(ctx)
		if err != nil {
			return err
		}
		return unlock()
	})
	a.ok(leave())
	a.ok(unlock())
	waiter.arrives()

	ctx, _, err = here.Lock(a.within())
	a.ok(err)
	passport, err := here.Export(ctx)
	a.ok(err)
	_, unlock, err = there.Import(a.within(), passport)
	a.ok(err)
	a.ok(here.Break(a.within()))
	require.ErrorIs(a, unlock(), rlock.ErrLost)
	a.quiet()
}

const aclDead = "b2f7c1de-0000-4000-8000-000000000000:" // the begin of ids of a client that died

// aclToken puts a token ahead of the server's clock, with an expiry. The next one takes commands that others do not.
func aclToken(a *aclTrial, name string) {
	a.opts.FenceTTL = -1
	for _, admin := range a.admins {
		ahead := time.Now().Add(time.Hour).UnixMicro()
		a.ok(admin.Set(context.Background(), keys.Prefix("redisson_lock_token", name), ahead, time.Hour).Err())
	}
}

func aclPlain(a *aclTrial) {
	aclToken(a, a.name)
	here, there := a.client(), a.client()
	aclExclusive(a, rlock.New(here, a.name), rlock.New(there, a.name))
	aclFresh(a, rlock.New(here, a.name+":fresh", rlock.MinHold(100*time.Millisecond)))
}

// aclFresh takes a lock that was never taken before, and so has no token.
func aclFresh(a *aclTrial, lock *rlock.Lock) {
	_, unlock, err := lock.Lock(a.within())
	a.ok(err)
	a.ok(unlock())
}

func aclFair(a *aclTrial) {
	aclToken(a, a.name)
	here, there := a.client(), a.client()
	aclExclusive(a, fairlock.New(here, a.name), fairlock.New(there, a.name))

	aclFresh(a, fairlock.New(here, a.name+":fresh"))

	// Somebody who died while waiting.
	a.do("ZADD", keys.Own("fair_queue", a.name), 1, aclDead+"1")
	_, unlock, err := fairlock.New(here, a.name).Lock(a.within())
	a.ok(err)
	a.ok(unlock())
}

func aclReadWrite(a *aclTrial) {
	aclToken(a, a.name)
	here, there := a.client(), a.client()
	one, other := rwlock.New(here, a.name), rwlock.New(there, a.name)
	aclExclusive(a, one.Write(), other.Write())

	aclFresh(a, rwlock.New(here, a.name+":fresh").Write())

	// Readers, a writer that waits for them, and a downgrade.
	ctx, unlock, err := one.Read().Lock(a.within())
	a.ok(err)
	_, leave, err := one.Read().Lock(ctx)
	a.ok(err)
	_, unlockOther, err := other.Read().Lock(a.within())
	a.ok(err)
	_, err = other.Read().Inspect(a.within())
	a.ok(err)
	writer := a.waiting(func(ctx context.Context) error {
		ctx, unlock, err := other.Write().Lock(ctx)
		if err != nil {
			return err
		}
		_, unread, err := other.Read().Lock(ctx)
		if err != nil {
			return err
		}
		if err := unlock(); err != nil {
			return err
		}
		return unread()
	})
	a.happens(a.renewed, "a renewal of a reader")
	a.ok(leave())
	a.ok(unlock())
	a.ok(unlockOther())
	writer.arrives()

	ctx, _, err = one.Read().Lock(a.within())
	a.ok(err)
	passport, err := one.Read().Export(ctx)
	a.ok(err)
	_, unlock, err = other.Read().Import(a.within(), passport)
	a.ok(err)
	a.ok(one.Read().Break(a.within()))
	require.ErrorIs(a, unlock(), rlock.ErrLost)

	// Many readers who died, of whom a writer takes a sample.
	dead := []any{"HSET", "%s", "mode", "read"}
	for i := range 40 {
		dead = append(dead, aclDead+strconv.Itoa(i), 1)
	}
	a.do(dead...)
	a.do("PEXPIRE", "%s", 600_000)
	_, unlock, err = one.Write().Lock(a.within())
	a.ok(err)
	a.ok(unlock())
	a.quiet()
}

func aclSemaphore(a *aclTrial) {
	here, there := semaphore.New(a.client(), a.name, semaphore.ExpireUnused(time.Hour)), semaphore.New(a.client(), a.name)
	_, err := here.SetCapacityIfAbsent(a.within(), 1)
	a.ok(err)
	a.ok(here.SetCapacity(a.within(), 2))
	n, err := here.AddCapacity(a.within(), 1)
	a.ok(err)
	require.EqualValues(a, 3, n)
	_, release, err := here.Acquire(a.within(), 2)
	a.ok(err)
	_, _, err = there.TryAcquire(a.within(), 2)
	require.ErrorIs(a, err, rlock.ErrBusy)
	n, err = there.Available(a.within())
	a.ok(err)
	require.EqualValues(a, 1, n)
	n, err = there.Capacity(a.within())
	a.ok(err)
	require.EqualValues(a, 3, n)
	a.happens(a.renewed, "a renewal of permits")
	waiter := a.waiting(func(ctx context.Context) error {
		_, release, err := there.Acquire(ctx, 2)
		if err != nil {
			return err
		}
		return release()
	})
	a.ok(release())
	waiter.arrives()

	_, release, err = here.Acquire(a.within(), 1)
	a.ok(err)
	info, err := there.Inspect(a.within())
	a.ok(err)
	require.Len(a, info.Holders, 1)
	a.ok(there.Break(a.within(), info.Holders[0].ID))
	require.ErrorIs(a, release(), rlock.ErrLost)
	a.do("ZADD", keys.Suffix(a.name, "timeout"), 1, aclDead+"1/0") // a permit of somebody who died
	a.do("DECRBY", "%s", 1)
	_, release, err = here.Acquire(a.within(), 3)
	a.ok(err)
	a.ok(release())
	a.ok(here.Delete(a.within()))
	a.quiet()
}

func aclCounting(a *aclTrial) {
	here, there := semaphore.NewCounting(a.client(), a.name), semaphore.NewCounting(a.client(), a.name)
	a.ok(here.Set(a.within(), 1))
	a.ok(here.AddCapacity(a.within(), 1))
	a.ok(here.Acquire(a.within(), 1))
	a.ok(here.TryAcquire(a.within(), 1))
	n, err := there.Available(a.within())
	a.ok(err)
	require.Zero(a, n)
	waiter := a.waiting(func(ctx context.Context) error { return there.Acquire(ctx, 1) })
	a.ok(here.Release(a.within(), 2))
	waiter.arrives()
	n, err = here.Drain(a.within())
	a.ok(err)
	require.EqualValues(a, 1, n)

	// A Drain whose reply was lost, and which is sent again.
	a.ok(here.Delete(a.within()))
	a.ok(here.Set(a.within(), 2))
	counter := luacall.Counter{Free: a.name, Channel: keys.Prefix("redisson_sc", a.name)}
	request := func(id string) luacall.Request {
		return luacall.Request{ID: aclDead + id, Key: keys.Own("request", a.name),
			NotAfter: time.Now().Add(time.Minute).UnixMicro()}
	}
	drain := luacall.CountDrain(counter, request("1"))
	for range 2 {
		_, err = drain.Run(a.within(), a.rdbs[0])
		a.ok(err)
	}
	// One that is given up after it took.
	a.ok(here.Delete(a.within()))
	a.ok(here.Set(a.within(), 2))
	_, err = luacall.CountAcquire(counter, 1, false, request("2")).Run(a.within(), a.rdbs[0])
	a.ok(err)
	_, err = luacall.CountCancel(counter, 1, request("2"), 60_000).Run(a.within(), a.rdbs[0])
	a.ok(err)
	a.ok(here.Delete(a.within()))
	a.quiet()
}

func aclLatch(a *aclTrial) {
	here, there := latch.New(a.client(), a.name), latch.New(a.client(), a.name)
	a.ok(here.Set(a.within(), 2))
	n, err := there.Count(a.within())
	a.ok(err)
	require.EqualValues(a, 2, n)
	waiter := a.waiting(there.Wait)
	a.ok(here.CountDown(a.within()))
	a.ok(here.CountDown(a.within()))
	waiter.arrives()
	a.ok(here.SetFor(a.within(), 1, time.Minute))
	a.ok(here.Delete(a.within()))
	a.quiet()
}

func aclMultilock(a *aclTrial) {
	aclToken(a, a.name+":1") // the other has none
	here, there := a.client(), a.client()
	locks := func(client *rlock.Client, opts ...rlock.Option) []*rlock.Lock {
		return []*rlock.Lock{rlock.New(client, a.name+":1", opts...), rlock.New(client, a.name+":2", opts...)}
	}
	one, other := multilock.New(locks(here)), multilock.New(locks(there))
	aclTwo(a, one, other)
}

func aclRedlock(a *aclTrial) {
	aclToken(a, a.name)
	client := func() *redlock.Client {
		client, err := redlock.NewClient(a.rdbs, &redlock.Options{
			ClientOptions: a.opts, NodeTimeout: aclLease / 6, BehindProxy: true,
		})
		a.ok(err)
		a.opened(client)
		a.cleanup(func() { _ = client.Close() })
		return client
	}
	here, there := client(), client()
	one, other := redlock.New(here, a.name), redlock.New(there, a.name)
	aclTwo(a, one, other)
}

// aclOperated is a lock that is taken, and looked at and broken by an operator.
type aclOperated[Info any] interface {
	rlock.Locker
	Inspect(ctx context.Context) (Info, error)
	Break(ctx context.Context) error
}

// aclTwo uses one lock by two clients in every way.
func aclTwo[Info any](a *aclTrial, one, other aclOperated[Info]) {
	_, unlock, err := other.TryLock(a.within())
	a.ok(err)
	a.ok(unlock())
	ctx, unlock, err := one.Lock(a.within())
	a.ok(err)
	_, leave, err := one.Lock(ctx)
	a.ok(err)
	_, _, err = other.TryLock(a.within())
	require.ErrorIs(a, err, rlock.ErrBusy)
	_, err = other.Inspect(a.within())
	a.ok(err)
	a.happens(a.renewed, "a renewal")
	waiter := a.waiting(func(ctx context.Context) error {
		_, unlock, err := other.Lock(ctx)
		if err != nil {
			return err
		}
		return unlock()
	})
	a.ok(leave())
	a.ok(unlock())
	waiter.arrives()
	_, unlock, err = one.Lock(a.within())
	a.ok(err)
	a.ok(other.Break(a.within()))
	require.ErrorIs(a, unlock(), rlock.ErrLost)
	a.quiet()
}
