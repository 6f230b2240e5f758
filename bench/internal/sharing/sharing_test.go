package sharing_test

import (
	"context"
	"errors"
	"log/slog"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"github.com/bsm/redislock"
	"github.com/go-redsync/redsync/v4"
	"github.com/go-redsync/redsync/v4/redis/goredis/v9"
	goredis9 "github.com/redis/go-redis/v9"
	"github.com/redis/rueidis"
	"github.com/redis/rueidis/rueidislock"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

const (
	lease    = 30 * time.Second // which no test outlives
	patience = 30 * time.Second // bounds waits for what has to happen
)

// peer is another library's lock on one key.
type peer struct {
	key  string                                                      // where it keeps a lock named "name"
	try  func(ctx context.Context) (release func() error, err error) // one attempt
	wait func(ctx context.Context) error                             // takes it and gives it back

	// While holdfast holds the key its wait goes on until it is free. Otherwise it ends with an error.
	waits bool

	// What its attempt says while holdfast holds the key: it is refused, in these words.
	refused func(err error) bool
}

func peers(t *testing.T, addr, name string) map[string]peer {
	t.Helper()
	rdb := goredis9.NewClient(&goredis9.Options{Addr: addr})
	t.Cleanup(func() { _ = rdb.Close() })
	mutexes := redsync.New(goredis.NewPool(rdb))
	obtainer := redislock.New(rdb)
	locker, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption: rueidis.ClientOption{InitAddress: []string{addr}},
		KeyMajority:  1, NoLoopTracking: true, KeyValidity: lease, TryNextAfter: patience,
	})
	require.NoError(t, err)
	t.Cleanup(locker.Close)
	wrongType := func(err error) bool { return goredis9.HasErrorPrefix(err, "WRONGTYPE") }
	return map[string]peer{
		"redsync": {
			key: name,
			try: func(ctx context.Context) (func() error, error) {
				m := mutexes.NewMutex(name, redsync.WithExpiry(lease))
				return func() error { _, err := m.Unlock(); return err }, m.TryLockContext(ctx)
			},
			wait: func(ctx context.Context) error {
				m := mutexes.NewMutex(name, redsync.WithExpiry(lease), redsync.WithTries(1<<20),
					redsync.WithRetryDelay(time.Millisecond))
				err := m.LockContext(ctx)
				if err == nil {
					_, err = m.Unlock()
				}
				return err
			},
			waits:   true,
			refused: func(err error) bool { var taken *redsync.ErrTaken; return errors.As(err, &taken) },
		},
		"redislock": {
			key: name,
			try: func(ctx context.Context) (func() error, error) {
				l, err := obtainer.Obtain(ctx, name, lease, nil)
				return func() error { return l.Release(context.Background()) }, err
			},
			wait: func(ctx context.Context) error {
				l, err := obtainer.Obtain(ctx, name, lease, &redislock.Options{
					RetryStrategy: redislock.LinearBackoff(time.Millisecond),
				})
				if err == nil {
					err = l.Release(ctx)
				}
				return err
			},
			refused: wrongType, // and not redislock.ErrNotObtained
		},
		"rueidislock": {
			key: "rueidislock:0:" + name,
			try: func(ctx context.Context) (func() error, error) {
				_, cancel, err := locker.TryWithContext(ctx, name)
				return func() error { cancel(); return nil }, err
			},
			wait: func(ctx context.Context) error {
				_, cancel, err := locker.WithContext(ctx, name)
				if err == nil {
					cancel()
				}
				return err
			},
			waits: true,
			refused: func(err error) bool { // and not rueidislock.ErrNotLocked
				return strings.Contains(err.Error(), "WRONGTYPE")
			},
		},
	}
}

func open(t *testing.T, addr string) *rlock.Client {
	t.Helper()
	rdb := goredis9.NewClient(&goredis9.Options{Addr: addr})
	client, err := rlock.NewClient(rdb, &rlock.ClientOptions{Lease: lease, Logger: slog.New(slog.DiscardHandler)})
	require.NoError(t, err)
	t.Cleanup(func() {
		require.NoError(t, client.Close())
		_ = rdb.Close()
	})
	return client
}

func bounded(t *testing.T) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), patience)
	t.Cleanup(cancel)
	return ctx
}

// While either library holds the key, the other one gets nothing. Neither waits for the other, and neither touches
// what the other has.
func TestOneKeyExcludesBoth(t *testing.T) {
	server := redistest.Shared(t)
	for library, p := range peers(t, server.Addr(), "exclude") {
		t.Run(library, func(t *testing.T) {
			ctx, ours := bounded(t), rlock.New(open(t, server.Addr()), p.key)

			release, err := p.try(ctx)
			require.NoError(t, err)
			_, _, err = ours.TryLock(ctx)
			require.ErrorIs(t, err, rlock.ErrKeyConflict)
			require.NotErrorIs(t, err, rlock.ErrBusy)
			_, _, err = ours.Lock(ctx)
			require.ErrorIs(t, err, rlock.ErrKeyConflict, "it does not wait")
			require.NoError(t, ctx.Err())
			require.NoError(t, release(), "it has its lock still")

			held, unlock, err := ours.Lock(ctx)
			require.NoError(t, err)
			_, err = p.try(ctx)
			require.Error(t, err)
			require.True(t, p.refused(err), "%T: %v", err, err)
			require.NoError(t, held.Err())
			require.NoError(t, unlock(), "it has its lock still")
		})
	}
}

// sets is how many SET commands the server has carried out, refused ones included. redsync and rueidislock lock by one.
func sets(t *testing.T, server *redistest.Server) (calls int64) {
	t.Helper()
	_, stats, _ := strings.Cut(server.Client(t).Info(t.Context(), "commandstats").Val(), "cmdstat_set:calls=")
	number, _, _ := strings.Cut(stats, ",")
	calls, _ = strconv.ParseInt(number, 10, 64)
	return calls
}

// Waits of redsync and rueidislock for a key that is holdfast's go on until it is free. redislock's end with Redis's
// error, whatever its retry strategy.
func TestAWaitOfTheOtherLibrary(t *testing.T) {
	server := redistest.Shared(t)
	for library, p := range peers(t, server.Addr(), "wait") {
		t.Run(library, func(t *testing.T) {
			ctx, ours := bounded(t), rlock.New(open(t, server.Addr()), p.key)
			_, unlock, err := ours.Lock(ctx)
			require.NoError(t, err)
			result, before := make(chan error, 1), sets(t, server)
			go func() { result <- p.wait(ctx) }()
			if !p.waits {
				err := <-result
				require.True(t, err != nil && p.refused(err), "%T: %v", err, err)
				require.NoError(t, unlock())
				return
			}
			redistest.Eventually(t, patience, func() bool { return sets(t, server) > before }, "it asks")
			require.Empty(t, result)
			require.NoError(t, unlock())
			require.NoError(t, <-result)
		})
	}
}

// A release that comes when the key is holdfast's frees nothing.
func TestALateReleaseOfTheOtherLibrary(t *testing.T) {
	server := redistest.Shared(t)
	for library, p := range peers(t, server.Addr(), "late") {
		t.Run(library, func(t *testing.T) {
			ctx, ours := bounded(t), rlock.New(open(t, server.Addr()), p.key)
			release, err := p.try(ctx)
			require.NoError(t, err)
			require.NoError(t, server.Client(t).Del(ctx, p.key).Err()) // as if its TTL were over
			held, unlock, err := ours.Lock(ctx)
			require.NoError(t, err)
			_ = release() // an error or not: see the next line
			info, err := ours.Inspect(ctx)
			require.NoError(t, err)
			require.Len(t, info.Holders, 1)
			require.NoError(t, held.Err())
			require.NoError(t, unlock())
		})
	}
}

// With one key a roll-out needs one deployment: a program that takes ErrKeyConflict, or the error of the old library,
// for "busy" and tries again, is excluded by both.
func TestARollOutOnOneKey(t *testing.T) {
	server := redistest.Shared(t)
	for library, p := range peers(t, server.Addr(), "rollout") {
		t.Run(library, func(t *testing.T) {
			ctx, ours := bounded(t), rlock.New(open(t, server.Addr()), p.key)
			var inside, overlaps, theirs, mine atomic.Int64
			section := func(count *atomic.Int64) {
				if inside.Add(1) > 1 {
					overlaps.Add(1)
				}
				count.Add(1)
				time.Sleep(time.Millisecond)
				inside.Add(-1)
			}
			var all sync.WaitGroup
			until := func(turn func() error) {
				all.Go(func() {
					for (theirs.Load() < 20 || mine.Load() < 20) && ctx.Err() == nil {
						if turn() != nil {
							time.Sleep(time.Millisecond) // the retry strategy
						}
					}
				})
			}
			for range 2 {
				until(func() error {
					release, err := p.try(ctx)
					if err != nil {
						return err
					}
					section(&theirs)
					return release()
				})
				until(func() error {
					return ours.Do(ctx, func(context.Context) error { section(&mine); return nil })
				})
			}
			all.Wait()
			require.NoError(t, ctx.Err())
			require.Zero(t, overlaps.Load())
		})
	}
}

// rueidislock's ForceWithContext overwrites whatever is at its key, holdfast's lock as well. The holder learns it.
func TestAForcedLockTakesTheKey(t *testing.T) {
	server := redistest.Shared(t)
	locker, err := rueidislock.NewLocker(rueidislock.LockerOption{
		ClientOption: rueidis.ClientOption{InitAddress: []string{server.Addr()}},
		KeyMajority:  1, NoLoopTracking: true, KeyValidity: lease,
	})
	require.NoError(t, err)
	defer locker.Close()
	rdb := goredis9.NewClient(&goredis9.Options{Addr: server.Addr()})
	defer func() { _ = rdb.Close() }()
	client, err := rlock.NewClient(rdb, &rlock.ClientOptions{
		Lease: 3 * time.Second, Logger: slog.New(slog.DiscardHandler),
	})
	require.NoError(t, err)
	held, unlock, err := rlock.New(client, "rueidislock:0:forced").Lock(bounded(t))
	require.NoError(t, err)
	_, cancel, err := locker.ForceWithContext(bounded(t), "forced")
	require.NoError(t, err)
	redistest.Receive(t, patience, held.Done(), "the holder does not learn it")
	require.ErrorIs(t, context.Cause(held), rlock.ErrLost)
	require.ErrorIs(t, unlock(), rlock.ErrLost)
	cancel()
	require.NoError(t, client.Close())
}

// Different keys exclude nothing: rueidislock keeps a lock in several keys by default, and holdfast's prefix is
// nobody else's.
func TestDifferentKeysExcludeNothing(t *testing.T) {
	server := redistest.Shared(t)
	for library, p := range peers(t, server.Addr(), "apart") {
		t.Run(library, func(t *testing.T) {
			ctx := bounded(t)
			release, err := p.try(ctx)
			require.NoError(t, err)
			require.NoError(t, rlock.New(open(t, server.Addr()), "lock:"+p.key).Do(ctx, func(context.Context) error {
				return nil
			}))
			require.NoError(t, release())
		})
	}
}
