package operate_test

import (
	"context"
	"fmt"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/fairlock"
	"github.com/holdfast-go/holdfast/internal/testkit/faultproxy"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/latch"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/operate"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/rwlock"
	"github.com/holdfast-go/holdfast/semaphore"
)

// listed is everything that List tells, by name. A name that is told twice fails the test.
func listed(t testing.TB, client *rlock.Client, pattern string) map[string]lock.Entry {
	t.Helper()
	all := make(map[string]lock.Entry)
	for entry, err := range operate.List(within(t), client, pattern) {
		require.NoError(t, err)
		require.NotContains(t, all, entry.Name)
		all[entry.Name] = entry
	}
	return all
}

// listPlaces runs a test on a single server and on a cluster.
func listPlaces(t *testing.T, test func(t *testing.T, rdb redis.UniversalClient)) {
	t.Run("single", func(t *testing.T) { t.Parallel(); test(t, redistest.Start(t).Client(t)) })
	t.Run("cluster", func(t *testing.T) { t.Parallel(); test(t, redistest.Cluster(t, 3).Client(t)) })
}

// takeOneOfEach holds a lock of every kind and returns what must be told of it.
func takeOneOfEach(t *testing.T, client *rlock.Client) map[string]lock.Kind {
	ctx := within(t)
	rw, sem := rwlock.New(client, "l:rw"), semaphore.New(client, "l:sem")
	require.NoError(t, sem.SetCapacity(ctx, 5))
	count := semaphore.NewCounting(client, "l:count")
	require.NoError(t, count.Set(ctx, 7))
	require.NoError(t, latch.New(client, "l:latch").Set(ctx, 3))
	take(t, ctx, rlock.New(client, "l:plain"))
	take(t, ctx, rlock.New(client, "l:{tag}:plain"))
	take(t, ctx, rw.Read())
	take(t, ctx, rwlock.New(client, "l:writer").Write())
	_, _, err := sem.Acquire(ctx, 2)
	require.NoError(t, err)
	return map[string]lock.Kind{
		"l:plain": lock.KindLock, "l:{tag}:plain": lock.KindLock, "l:rw": lock.KindReadWrite,
		"l:writer": lock.KindReadWrite, "l:sem": lock.KindSemaphore, "l:count": lock.KindNumber,
		"l:latch": lock.KindNumber,
	}
}

func TestListTellsLocksOfEveryKind(t *testing.T) {
	t.Parallel()
	listPlaces(t, func(t *testing.T, rdb redis.UniversalClient) {
		ctx, client := within(t), clientOn(t, rdb, nil)
		before := time.Now()
		want := takeOneOfEach(t, client)
		foreigners := map[string]func(key string) error{
			"string": func(key string) error { return rdb.Set(ctx, key, "7", 0).Err() },
			"hash":   func(key string) error { return rdb.HSet(ctx, key, "user:1", "5").Err() },
			"mode":   func(key string) error { return rdb.HSet(ctx, key, "mode", "dark", "name", "x").Err() },
			"list":   func(key string) error { return rdb.RPush(ctx, key, "a").Err() },
			"zset":   func(key string) error { return rdb.ZAdd(ctx, key, redis.Z{Member: "a"}).Err() },
		}
		for name, put := range foreigners {
			for i := range 300 { // so that SCAN has something to walk
				require.NoError(t, put(fmt.Sprintf("l:foreign:%s:%d", name, i)))
			}
		}
		got := listed(t, clientOn(t, rdb, nil), "l:*") // another client
		kinds := make(map[string]lock.Kind)
		for name, entry := range got {
			kinds[name] = entry.Kind
		}
		require.Equal(t, want, kinds)

		plain := got["l:plain"]
		require.Len(t, plain.Holders, 1)
		assert.Equal(t, 1, plain.Held)
		assert.False(t, plain.Holders[0].Mine)
		assert.True(t, listed(t, client, "l:plain")["l:plain"].Holders[0].Mine)
		assert.Positive(t, plain.Holders[0].TTL)
		assert.Positive(t, plain.Fence)
		assert.WithinRange(t, plain.Since, before.Add(-time.Minute), time.Now().Add(time.Minute))
		assert.Equal(t, "read", got["l:rw"].Mode)
		assert.Equal(t, "write", got["l:writer"].Mode)
		assert.Positive(t, got["l:rw"].Holders[0].TTL)
		assert.Equal(t, 2, got["l:sem"].Holders[0].Count)
		assert.EqualValues(t, 3, got["l:sem"].Number)
		assert.EqualValues(t, 7, got["l:count"].Number)
		assert.EqualValues(t, 3, got["l:latch"].Number)

		assert.Len(t, listed(t, client, "*"), len(want), "everything")
		assert.Len(t, listed(t, client, "l:p*"), 1)
		assert.Len(t, listed(t, client, "l:{tag}:*"), 1)
		assert.Len(t, listed(t, client, operate.Quote("l:sem")), 1, "one name, without a scan")
		assert.Empty(t, listed(t, client, "l:foreign:hash:1"))
		assert.Empty(t, listed(t, client, "none*"))
	})
}

// A lock that was released is known by its token, and a lock is told that is only waited for.
func TestListTellsNamesWithoutAHolder(t *testing.T) {
	t.Parallel()
	listPlaces(t, func(t *testing.T, rdb redis.UniversalClient) {
		ctx, client := within(t), clientOn(t, rdb, nil)
		_, unlock := take(t, ctx, rlock.New(client, "free"))
		require.NoError(t, unlock())
		entry := listed(t, client, "*")["free"]
		assert.True(t, entry.Free())
		assert.Equal(t, lock.KindUnknown, entry.Kind)
		assert.Positive(t, entry.Fence)

		// Nobody opens these, and somebody waits at them.
		waiting, stop := context.WithCancel(ctx)
		t.Cleanup(stop)
		done := make(chan error, 2)
		require.NoError(t, latch.New(client, "latch").Set(ctx, 1))
		go func() { done <- latch.New(client, "latch").Wait(waiting) }()
		go func() { _, _, err := semaphore.New(client, "unset").Acquire(waiting, 1); done <- err }()
		other := clientOn(t, rdb, nil)
		redistest.Eventually(t, limit, func() bool {
			all := listed(t, other, "*")
			return all["latch"].Kind == lock.KindLatch && all["latch"].Waiters == 1 && all["unset"].Waiters == 1
		}, "the waiters are not told")
		assert.Equal(t, lock.KindLatch, listed(t, other, "latch")["latch"].Kind, "looked up by name")
		assert.Equal(t, 1, listed(t, other, "unset")["unset"].Waiters)
		stop()
		<-done
		<-done
	})
}

func TestListTellsTheWaitersOfAFairLock(t *testing.T) {
	t.Parallel()
	listPlaces(t, func(t *testing.T, rdb redis.UniversalClient) {
		ctx, client, other := within(t), clientOn(t, rdb, nil), clientOn(t, rdb, nil)
		take(t, ctx, fairlock.New(client, "fair"))
		waiting, stop := context.WithCancel(ctx)
		t.Cleanup(stop)
		done := make(chan error, 3)
		for range 3 {
			go func() { _, _, err := fairlock.New(other, "fair").Lock(waiting); done <- err }()
		}
		redistest.Eventually(t, limit, func() bool {
			entry := listed(t, client, "fair*")["fair"]
			return entry.Kind == lock.KindFair && entry.Held == 1 && entry.Waiters == 3
		}, "the waiters are not told")
		stop()
		for range 3 {
			<-done
		}
	})
}

// What Java leaves is told too; see redisson-wire: opaque ids, permits that never expire, a reader that died.
func TestListTellsRedissonsLocks(t *testing.T) {
	t.Parallel()
	rdb := redistest.Start(t).Client(t)
	ctx, client := within(t), clientOn(t, rdb, nil)
	const java = "8743c9c0-0795-4907-87fd-6c719a6b4586"
	rdb.HSet(ctx, "java", java+":1:tx", "2")
	rdb.PExpire(ctx, "java", time.Minute)
	rdb.HSet(ctx, "readers", "mode", "read", java+":1", "1", java+":2", "2")
	rdb.PExpire(ctx, "readers", time.Minute)
	rdb.Set(ctx, "{readers}:"+java+":2:rwlock_timeout:2", "1", time.Minute) // the first level's is over
	rdb.Set(ctx, "permits", "3", 0)
	rdb.ZAdd(ctx, "{permits}:timeout", redis.Z{Score: 922337203685477, Member: "0123456789abcdef"},
		redis.Z{Score: 5, Member: "expired before  "})
	rdb.RPush(ctx, "redisson_lock_queue:{fair}", java+":7", java+":8")
	all := listed(t, client, "*")
	require.Len(t, all, 4)
	assert.Equal(t, 2, all["java"].Holders[0].Count)
	assert.Zero(t, all["java"].Since)
	require.Len(t, all["readers"].Holders, 1, "the other one is dead")
	assert.Equal(t, java+":2", all["readers"].Holders[0].ID)
	require.Len(t, all["permits"].Holders, 1)
	assert.Equal(t, "30313233343536373839616263646566", all["permits"].Holders[0].ID)
	assert.Negative(t, all["permits"].Holders[0].TTL)
	assert.Equal(t, lock.KindFair, all["fair"].Kind)
	assert.Equal(t, 2, all["fair"].Waiters)
}

// A lock with many readers is told in part, and each batch costs the server the same few commands.
func TestListReadsBigLocksInPart(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	rdb := server.Client(t)
	ctx, client := within(t), clientOn(t, rdb, nil)
	pipe := rdb.Pipeline()
	pipe.HSet(ctx, "big", "mode", "read")
	for i := range 3000 {
		id := fmt.Sprintf("8743c9c0-0795-4907-87fd-6c719a6b4586:%d", i)
		pipe.HSet(ctx, "big", id, "1")
		pipe.Set(ctx, "{big}:"+id+":rwlock_timeout:1", "1", time.Minute)
	}
	pipe.PExpire(ctx, "big", time.Minute)
	_, err := pipe.Exec(ctx)
	require.NoError(t, err)
	entry := listed(t, client, "*")["big"]
	assert.Equal(t, 3000, entry.Held)
	assert.True(t, entry.Truncated)
	assert.LessOrEqual(t, len(entry.Holders), 100)
	for _, command := range []string{"keys", "hgetall", "smembers"} {
		assert.Zero(t, server.Calls(t, command), command)
	}
}

func TestListEndsWhenItIsTold(t *testing.T) {
	t.Parallel()
	rdb := redistest.Start(t).Client(t)
	client := clientOn(t, rdb, nil)
	for i := range 5 {
		take(t, within(t), rlock.New(client, fmt.Sprint("l:", i)))
	}
	told := 0
	for range operate.List(within(t), client, "l:*") {
		told++
		break
	}
	assert.Equal(t, 1, told)
	ctx, cancel := context.WithCancel(context.Background())
	cancel()
	for _, err := range operate.List(ctx, client, "*") {
		require.ErrorIs(t, err, context.Canceled)
	}
	require.NoError(t, rdb.Do(within(t), "ACL", "SETUSER", "blind", "on", "nopass", "~*", "&*", "+@all", "-type").Err())
	opts := *rdb.Options()
	opts.Username, opts.Password = "blind", "x"
	blind := redis.NewClient(&opts)
	t.Cleanup(func() { _ = blind.Close() })
	failed := 0
	for _, err := range operate.List(within(t), clientOn(t, blind, nil), "*") {
		require.ErrorIs(t, err, lock.ErrUnavailable)
		require.ErrorContains(t, err, "NOPERM")
		failed++
	}
	assert.Equal(t, 1, failed, "no rights are an error, and not an empty list")
	for _, err := range operate.List(within(t), new(rlock.Client), "*") {
		require.ErrorAs(t, err, new(*lock.ArgumentError))
	}
}

// defect F1: an empty pattern, which Quote makes of an empty name, is a mistake, and does not stand for all locks.
func TestAnEmptyPatternIsAMistake(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	proxy := faultproxy.Start(t, server.Addr())
	rdb := redis.NewClient(&redis.Options{Addr: proxy.Addr()})
	t.Cleanup(func() { _ = rdb.Close() })
	client := clientOn(t, rdb, nil)
	take(t, t.Context(), rlock.New(client, "order"))
	require.NoError(t, server.Client(t).HSet(t.Context(), "stuck", "8743c9c0-0795-4907-87fd-6c719a6b4586:1", "1").Err())
	sent := proxy.Requests(func(faultproxy.Request) bool { return true })
	refused := func(what string, err error) {
		t.Helper()
		var bad *lock.ArgumentError
		require.ErrorAs(t, err, &bad, what)
		require.Equal(t, "pattern", bad.Name)
	}
	told := 0
	for _, err := range operate.List(t.Context(), client, operate.Quote("")) {
		told++
		refused("List", err)
	}
	for _, err := range operate.Leaks(t.Context(), client, "") {
		told++
		refused("Leaks", err)
	}
	require.Equal(t, 2, told)
	require.Equal(t, sent, proxy.Requests(func(faultproxy.Request) bool { return true }), "something was sent")
	require.Len(t, listed(t, client, "*"), 2)
}

func TestLeaksAreFoundAndFreed(t *testing.T) {
	t.Parallel()
	listPlaces(t, func(t *testing.T, rdb redis.UniversalClient) {
		ctx, client := within(t), clientOn(t, rdb, nil)
		takeOneOfEach(t, client)
		const java = "8743c9c0-0795-4907-87fd-6c719a6b4586"
		rdb.Set(ctx, "redisson_lock_token:{fenced}", "17", 0) // Java's design
		rdb.HSet(ctx, "user", "name:1", "1")
		leaks := map[string]string{"lock": "lock", "rw": "rw", "{rw}:" + java + ":1:rwlock_timeout:1": "rw",
			"redisson_unlock_latch:{lock}:00ff": "lock", "holdfast_gate:{rw}": "rw"}
		rdb.HSet(ctx, "lock", java+":1", "1")
		rdb.HSet(ctx, "rw", "mode", "write", java+":1:write", "1")
		for key := range leaks {
			if key != "lock" && key != "rw" {
				rdb.Set(ctx, key, "1", 0)
			}
		}
		find := func(pattern string) map[string]string {
			found := make(map[string]string)
			for leak, err := range operate.Leaks(ctx, client, pattern) {
				require.NoError(t, err)
				require.NotEmpty(t, leak.What)
				found[leak.Key] = leak.Name
			}
			return found
		}
		require.Equal(t, leaks, find("*"))
		require.Len(t, find("lock"), 2)

		waiting := make(chan error, 1) // which Lock refuses as long as the leak is there
		_, _, err := rlock.New(client, "lock").Lock(ctx)
		require.ErrorIs(t, err, rlock.ErrKeyConflict)
		subscribe := rdb.Subscribe
		if _, cluster := rdb.(*redis.ClusterClient); cluster {
			known, err := rdb.Command(ctx).Result()
			require.NoError(t, err)
			if _, sharded := known["ssubscribe"]; sharded { // Redis from 7 on
				subscribe = rdb.SSubscribe
			}
		}
		sub := subscribe(ctx, "redisson_lock__channel:{lock}")
		t.Cleanup(func() { _ = sub.Close() })
		_, err = sub.Receive(ctx)
		require.NoError(t, err)
		go func() { _, err := sub.ReceiveMessage(ctx); waiting <- err }()
		for leak, err := range operate.Leaks(ctx, client, "*") {
			require.NoError(t, err)
			freed, err := operate.Free(ctx, client, leak)
			require.NoError(t, err)
			require.True(t, freed)
			freed, err = operate.Free(ctx, client, leak)
			require.NoError(t, err)
			require.False(t, freed, "it is gone")
		}
		require.NoError(t, <-waiting)
		require.Empty(t, find("*"))
		take(t, ctx, rlock.New(client, "lock"))

		// What is no leak is left alone, whatever the caller says.
		for _, key := range []string{"lock", "l:plain", "l:sem", "user", "redisson_lock_token:{fenced}"} {
			freed, err := operate.Free(ctx, client, lock.Leak{Key: key})
			require.NoError(t, err)
			require.False(t, freed, key)
			require.EqualValues(t, 1, rdb.Exists(ctx, key).Val())
		}
	})
}

// A semaphore without a capacity has no number of free permits: not even zero (defect F23).
func TestListTellsASemaphoreWithoutACapacity(t *testing.T) {
	t.Parallel()
	listPlaces(t, func(t *testing.T, rdb redis.UniversalClient) {
		client := clientOn(t, rdb, nil)
		ctx, cancel := context.WithCancel(within(t))
		ended := make(chan error, 1)
		go func() {
			_, _, err := semaphore.New(client, "s:new").Acquire(ctx, 1)
			ended <- err
		}()
		require.NoError(t, semaphore.NewCounting(client, "s:none").Set(ctx, 0))
		redistest.Eventually(t, limit, func() bool { return len(listed(t, client, "s:new")) == 1 }, "it is waited for")
		all := listed(t, client, "s:*")
		for _, entry := range []lock.Entry{all["s:new"], listed(t, client, "s:new")["s:new"]} {
			assert.Equal(t, lock.KindSemaphore, entry.Kind)
			assert.True(t, entry.NoCapacity)
			assert.Equal(t, 1, entry.Waiters)
		}
		assert.False(t, all["s:none"].NoCapacity, "zero is a capacity")
		cancel()
		require.ErrorIs(t, <-ended, context.Canceled)
	})
}
