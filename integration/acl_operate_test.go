package integration_test

import (
	"context"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/fence"
	"github.com/holdfast-go/holdfast/leader"
	"github.com/holdfast-go/holdfast/operate"
	"github.com/holdfast-go/holdfast/rlock"
)

// aclLeader has a leader say who it is.
func aclLeader(a *aclTrial) {
	client := a.client()
	lock := rlock.New(client, a.name)
	term, resign, err := leader.New(lock, leader.Value("one")).Campaign(a.within())
	a.ok(err)
	a.ok(leader.New(lock).Proclaim(term, "two"))
	who, err := leader.New(lock).Current(a.within())
	a.ok(err)
	require.Equal(a, "two", who.Value)
	a.ok(resign())
}

func aclFence(a *aclTrial) {
	guard, err := fence.NewRedis(a.rdbs[0], 0)
	a.ok(err)
	_, err = guard.Do(a.within(), a.name, 2, "HSET", "text", "new")
	a.ok(err)
	_, err = guard.Do(a.within(), a.name, 1, "HSET", "text", "old")
	require.ErrorIs(a, err, fence.ErrStale)
}

func aclOwner(a *aclTrial) {
	a.opts.Owner = "somebody"
	client, err := rlock.NewClient(a.rdbs[0], &a.opts)
	a.ok(err)
	a.cleanup(func() { _ = client.Close() })
	_, unlock, err := rlock.New(client, a.name).Lock(a.within())
	a.ok(err)
	for end := time.Now().Add(limit); ; time.Sleep(10 * time.Millisecond) {
		info, err := rlock.New(client, a.name).Inspect(a.within())
		a.ok(err)
		if info.Holders[0].Owner == "somebody" {
			break
		}
		require.Empty(a, a.refused())
		require.True(a, time.Now().Before(end), "the owner is not told")
	}
	a.ok(unlock())
	a.ok(client.Close())
}

// aclOneOfEach puts a lock of every kind into Redis, and a leak.
func aclOneOfEach(a *aclTrial) {
	a.do("HSET", "%s:plain", aclDead+"1", 1)
	a.do("PEXPIRE", "%s:plain", 600_000)
	a.do("SET", "redisson_lock_token:{%s:plain}", time.Now().UnixMicro())
	a.do("HSET", "%s:rw", "mode", "read", aclDead+"1", 1)
	a.do("PEXPIRE", "%s:rw", 600_000)
	a.do("SET", "{%s:rw}:"+aclDead+"1:rwlock_timeout:1", 1, "PX", 600_000)
	a.do("SET", "%s:permits", 3)
	a.do("ZADD", "{%s:permits}:timeout", time.Now().Add(time.Hour).UnixMilli(), aclDead+"1/0")
	a.do("HSET", "%s:leak", aclDead+"2", 1)
}

func aclList(a *aclTrial) {
	aclOneOfEach(a)
	client := a.client()
	found := 0
	for entry, err := range operate.List(a.within(), client, a.name+"*") {
		a.ok(err)
		if !entry.Free() {
			found++
		}
	}
	require.Equal(a, 4, found)
	leaks := 0
	for _, err := range operate.Leaks(a.within(), client, a.name+"*") {
		a.ok(err)
		leaks++
	}
	require.Equal(a, 1, leaks)
}

func aclFree(a *aclTrial) {
	aclOneOfEach(a)
	client := a.client()
	for leak, err := range operate.Leaks(a.within(), client, a.name+"*") {
		a.ok(err)
		freed, err := operate.Free(a.within(), client, leak)
		a.ok(err)
		require.True(a, freed)
		freed, err = operate.Free(a.within(), client, rlock.Leak{Key: a.name + ":plain"}) // which expires
		a.ok(err)
		require.False(a, freed)
	}
}

func aclCheck(a *aclTrial) {
	for _, finding := range operate.Check(a.within(), a.client(), a.name) {
		require.NotEqual(a, rlock.LevelFailure, finding.Level, finding.Text)
	}
}

// aclReplicas has a replica confirm.
func aclReplicas(a *aclTrial) {
	a.opts.MinReplicas, a.opts.Lease = 1, time.Minute
	_, unlock, err := rlock.New(a.client(), a.name).Lock(a.within())
	a.ok(err)
	a.ok(unlock())
}

// aclKeep has another client come for a lock that one keeps.
func aclKeep(a *aclTrial) {
	aclToken(a, a.name)
	a.opts.Lease = time.Minute
	lock, other := rlock.New(a.client(), a.name, rlock.Keep(time.Second)), rlock.New(a.client(), a.name)
	for range 2 {
		_, unlock, err := lock.Lock(a.within())
		a.ok(err)
		a.ok(unlock())
	}
	_, unlock, err := other.Lock(a.within())
	a.ok(err)
	a.ok(unlock())
}

// aclSynced has the disk confirm.
func aclSynced(a *aclTrial) {
	a.opts.Fsync, a.opts.Lease = true, time.Minute
	_, unlock, err := rlock.New(a.client(), a.name).Lock(a.within())
	a.ok(err)
	a.ok(unlock())
}

// aclWatched lives until the client has looked for the primary a few times.
func aclWatched(a *aclTrial) {
	_, unlock, err := rlock.New(a.client(), a.name).Lock(a.within())
	a.ok(err)
	a.happens(a.renewed, "a renewal")
	a.ok(unlock())
}

// aclSpread lives short lives, with waits, on the nodes of a cluster.
func aclSpread(a *aclTrial) {
	here, there := a.client(), a.client()
	for _, tag := range []string{"a", "b", "c", "d", "e", "f"} {
		name := a.name + ":" + tag
		_, unlock, err := rlock.New(here, name).Lock(a.within())
		a.ok(err)
		waiter := a.waiting(func(ctx context.Context) error {
			_, unlock, err := rlock.New(there, name).Lock(ctx)
			if err != nil {
				return err
			}
			return unlock()
		})
		a.ok(unlock())
		waiter.arrives()
	}
	a.quiet()
}
