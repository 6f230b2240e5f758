package luacall_test

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
)

// strangers are things at the lock's key that are no lock, and how they are made.
var strangers = map[string][]string{
	"string":                   {"SET %s x"},
	"string that expires":      {"SET %s x PX 30000"},
	"list":                     {"RPUSH %s x"},
	"list that expires":        {"RPUSH %s x", "PEXPIRE %s 30000"},
	"hash":                     {"HSET %s name x", "PEXPIRE %s 30000"},
	"hash of numbers":          {"HSET %s visits 7", "PEXPIRE %s 30000"},
	"hash with colons":         {"HSET %s a:1 x", "PEXPIRE %s 30000"},
	"no count":                 {"HSET %s a:1 0", "PEXPIRE %s 30000"},
	"negative count":           {"HSET %s a:1 -1", "PEXPIRE %s 30000"},
	"count that is no integer": {"HSET %s a:1 1.5", "PEXPIRE %s 30000"},
	"two holders":              {"HSET %s a:1 1 b:1 1", "PEXPIRE %s 30000"},
	"read lock":                {"HSET %s mode read a:1 1", "PEXPIRE %s 30000"},
	"write lock":               {"HSET %s mode write a:1:write 1", "PEXPIRE %s 30000"},
	"big hash":                 {"HSET %s a:1 1 a:2 1 a:3 1", "PEXPIRE %s 30000"},
}

func TestStrangersAtTheKey(t *testing.T) {
	for name, commands := range strangers {
		t.Run(name, func(t *testing.T) {
			everywhere(t, func(t *testing.T, p *place) {
				for _, command := range commands {
					p.do(command, p.lock)
				}
				p.unchanged(func() {
					conflict(p, p.acquire(alice))
					conflict(p, p.inspect())
				})
				require.Zero(t, p.stored())
			})
		})
	}
}

// The scripts that look for a hold of their own need no more than that it is not there.
func TestStrangersAreNotTouched(t *testing.T) {
	for name, commands := range strangers {
		t.Run(name, func(t *testing.T) {
			everywhere(t, func(t *testing.T, p *place) {
				for _, command := range commands {
					p.do(command, p.lock)
				}
				isHash := p.do("TYPE %s", p.lock) == "hash"
				p.unchanged(func() {
					untouched(p, isHash, p.levels(alice, 1, 2))
					untouched(p, isHash, p.release(alice))
					untouched(p, isHash, p.mintFor(alice))
					untouched(p, isHash, p.adopt(alice, bob))
					untouched(p, isHash, p.retain(alice, bob, never>>10))
					want := luacall.RenewConflict
					if isHash {
						want = luacall.RenewGone
					}
					require.Equal(t, []luacall.RenewStatus{want}, run(p, p.renew(alice, lease)))
				})
				require.Zero(t, p.stored())
			})
		})
	}
}

func untouched[R any](p *place, isHash bool, call *luacall.Call[R]) {
	p.t.Helper()
	if !isHash {
		conflict(p, call)
		return
	}
	switch reply := any(run(p, call)).(type) {
	case int64:
		require.Zero(p.t, reply)
	case luacall.ReleaseReply:
		require.Equal(p.t, luacall.Gone, reply.Status)
	case luacall.AcquireReply:
		require.Equal(p.t, luacall.Gone, reply.Status)
	default:
		p.t.Fatalf("a reply of type %T", reply)
	}
}

func TestConflictSaysWhy(t *testing.T) {
	everywhere(t, func(t *testing.T, p *place) {
		p.do("SET %s x PX 30000", p.lock)
		_, err := p.acquire(alice).Run(t.Context(), p.over())
		require.EqualError(t, err, "a value of another type is there: choose another name or Prefix")

		p.do("DEL %s", p.lock)
		p.do("HSET %s a:1 1", p.lock)
		_, err = p.acquire(alice).Run(t.Context(), p.over())
		require.EqualError(t, err, "a lock without expiry is there, "+
			"which nobody renews and which never ends: Inspect shows its holder, Break ends it")
	})
}
