package luacall_test

import (
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
)

// What another primitive, an application, or nobody put at a key is a conflict, and stays as it is (needs
// 24; Redisson mixes types silently).
func TestRWForeignKeysAreConflicts(t *testing.T) {
	for what, put := range map[string]func(p *rwPlace){
		"a string":             func(p *rwPlace) { p.do("SET %s x PX %d", p.lock, lease) },
		"a reentrant lock":     func(p *rwPlace) { run(p.place, p.acquire("e:1")) },
		"an application's":     func(p *rwPlace) { p.do("HSET %s colour red mode fast", p.lock); p.do("PEXPIRE %s 9999", p.lock) },
		"a lock for ever":      func(p *rwPlace) { p.do("HSET %s mode read e:1 1", p.lock) },
		"a writer for ever":    func(p *rwPlace) { p.do("HSET %s mode write e:1:write 1", p.lock) },
		"a token of no number": func(p *rwPlace) { p.do("SET %s x", p.token) },
		"a token of any type":  func(p *rwPlace) { p.do("HSET %s a b", p.token) },
	} {
		t.Run(what, func(t *testing.T) {
			rwEverywhere(t, func(t *testing.T, p *rwPlace) {
				put(p)
				p.still(func() {
					conflict(p.place, p.write(alice))
					conflict(p.place, p.read(alice))
				})
			})
		})
	}
}

func TestRWReleasesAtAStringAreConflicts(t *testing.T) {
	rwEverywhere(t, func(t *testing.T, p *rwPlace) {
		p.do("SET %s x", p.lock)
		p.still(func() {
			conflict(p.place, p.unwrite(alice))
			conflict(p.place, p.unread(alice))
			conflict(p.place, p.adoptWrite(alice, bob))
		})
	})
}

// A reentrant lock's scripts do not take a read-write lock for theirs.
func TestRWIsAConflictForTheReentrantLock(t *testing.T) {
	rwEverywhere(t, func(t *testing.T, p *rwPlace) {
		run(p.place, p.read(bob))
		p.still(func() { conflict(p.place, p.acquire(alice)) })
		run(p.place, p.unread(bob))
		run(p.place, p.write(bob))
		p.still(func() { conflict(p.place, p.acquire(alice)) })
	})
}

func TestRWFullMemory(t *testing.T) {
	server := startServer(t, "--maxmemory-policy", "noeviction")
	rdb := server.Client(t)
	place := func() *rwPlace { return newRWPlace(t, rdb) }
	free, read, written, dead, nested, downgraded := place(), place(), place(), place(), place(), place()
	run(read.place, read.read(alice))
	run(written.place, written.write(alice))
	run(dead.place, dead.read(alice))
	dead.kill(alice)
	for _, p := range []*rwPlace{nested, downgraded} {
		run(p.place, p.write(alice))
		run(p.place, p.readUnder(bob, alice))
	}
	require.NoError(t, rdb.ConfigSet(t.Context(), "maxmemory", "1").Err())
	err := rdb.Set(t.Context(), "one more", "x", 0).Err()
	require.True(t, redis.HasErrorPrefix(err, "OOM"), "the memory is not full: %v", err)

	// What takes is refused, and leaves no trace.
	free.still(func() { outOfMemory(free.place, free.write(alice)) })
	free.still(func() { outOfMemory(free.place, free.read(alice)) })
	dead.still(func() {
		named := dead.writeArgs(bob)
		named.Dead = run(dead.place, dead.write(bob)).Dead
		outOfMemory(dead.place, luacall.AcquireWrite(named))
	})
	read.still(func() { outOfMemory(read.place, read.read(bob)) })
	require.Equal(t, luacall.Busy, run(read.place, read.write(bob)).Status, "there is no room for a gate")
	nested.still(func() { outOfMemory(nested.place, nested.readUnder(carol, alice)) })

	// What gives back, renews or looks works.
	require.Equal(t, []luacall.RenewStatus{luacall.Renewed}, run(read.place, read.renewRead(alice, 20*lease)))
	read.holdKeys(alice, 1, 20*lease)
	require.Equal(t, luacall.Done, run(read.place, read.unread(alice)).Status)
	read.clean()
	require.Equal(t, []luacall.RenewStatus{luacall.Renewed},
		run(written.place, luacall.RenewWrite([]string{written.lock}, []string{alice}, []int64{20 * lease})))
	require.Equal(t, luacall.Held, run(written.place, written.adoptWrite(alice, bob)).Status)
	require.Equal(t, luacall.Done, run(written.place, written.unwrite(bob)).Status)
	written.clean()
	require.Equal(t, luacall.Held, run(nested.place, nested.adoptRead(bob, carol)).Status)
	require.Equal(t, luacall.Done, run(nested.place, nested.unread(carol)).Status)
	require.Equal(t, luacall.Done, run(downgraded.place, downgraded.unwrite(alice)).Status)
	downgraded.is("read", bob, "1")
	require.Len(t, downgraded.look(false).Holders, 1)
}

// An administrator may have taken commands from the user: a field without hold key or expiry must not stay.
func TestRWForbiddenCommandsLeaveNothing(t *testing.T) {
	for _, forbidden := range []string{"pexpire", "set"} {
		t.Run(forbidden, func(t *testing.T) {
			server := startServer(t)
			admin := newRWPlace(t, server.Client(t))
			admin.do("ACL SETUSER worker on >secret ~* &* +@all -%s", forbidden)
			rdb := redis.NewClient(&redis.Options{Addr: server.Addr(), Username: "worker", Password: "secret"})
			t.Cleanup(func() { _ = rdb.Close() })
			p := newRWPlace(t, rdb)
			_, err := p.read(alice).Run(t.Context(), rdb)
			require.ErrorAs(t, err, new(redis.Error))
			require.Zero(t, admin.rdb.Exists(t.Context(), p.lock, p.hold(alice, 1)).Val())
			admin.lock, admin.base, admin.token = p.lock, p.base, p.token
			run(admin.place, admin.read(bob))
			_, err = p.readFor(alice, 10*lease).Run(t.Context(), rdb)
			require.ErrorAs(t, err, new(redis.Error))
			admin.is("read", bob, "1")
		})
	}
}

func TestRWArgumentsAreCheckedBeforeAnythingIsSent(t *testing.T) {
	p := newRWPlace(t, nil)
	for what, call := range map[string]*luacall.Call[luacall.AcquireReply]{
		"read without id":     p.read("me"),
		"read without lease":  p.readFor(alice, 0),
		"read for ever":       p.readFor(alice, 1<<60),
		"read of half a call": luacall.AcquireRead(luacall.AcquireReadArgs{Lock: "x", Hold: "y", ID: alice, Lease: 1}),
	} {
		_, err := call.Run(t.Context(), nil) // a nil connection would panic
		require.Error(t, err, what)
	}
	half := p.writeArgs(alice)
	half.Token = ""
	for _, call := range []*luacall.Call[luacall.AcquireWriteReply]{p.write("me"), luacall.AcquireWrite(half)} {
		_, err := call.Run(t.Context(), nil)
		require.Error(t, err)
	}
	for _, call := range []*luacall.Call[[]luacall.RenewStatus]{
		luacall.RenewRead(nil, nil, nil, nil), luacall.RenewWrite([]string{"x"}, nil, nil),
		luacall.RenewRead([]string{"x"}, []string{}, []string{alice}, []int64{1}), p.renewRead(alice, 0),
	} {
		_, err := call.Run(t.Context(), nil)
		require.Error(t, err)
	}
}
