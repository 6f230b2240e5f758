package rlock

import (
	"context"
	"errors"
	"fmt"
	"iter"
	"strings"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/engine"
	"github.com/holdfast-go/holdfast/internal/listing"
	"github.com/holdfast-go/holdfast/internal/redisclient"
	"github.com/holdfast-go/holdfast/internal/redisstore"
	"github.com/holdfast-go/holdfast/internal/vocabulary"
)

// The kinds that only List tells. It knows locks by their keys, and these do not always tell which kind it is: a fair
// lock that nobody waits for, and a member of a multilock or a redlock, are KindLock; a counting semaphore or a latch
// is KindCounting or KindLatch while somebody waits for it. KindRead, KindWrite, KindMultilock and KindRedlock are
// never told.
const (
	KindReadWrite Kind = "rwlock"  // a read-write lock; Entry.Mode is the side that is held
	KindNumber    Kind = "number"  // a counting semaphore or a latch; looked up by name, any number
	KindUnknown   Kind = "unknown" // a name that was locked lately and that nobody holds
)

// Entry is one lock in Redis, held by whomever.
type Entry struct {
	// Name is the lock's name for the client that asked: a handle that New makes of it is on this very lock. Its key
	// in Redis has ClientOptions.Prefix before it.
	Name string
	Kind Kind
	Mode string // of a read-write lock that is held: "read" or "write"

	// Info is what Inspect tells, with these differences: of one lock at most 100 holders are listed, the Queue is
	// empty, and each other client that waits counts as one, except for those of a fair lock.
	Info
	WaitersUnknown bool // Redis did not say how many wait

	Number     int64 // of free permits, or a latch's count
	NoCapacity bool  // callers wait for a semaphore whose capacity nobody has set, so there is no Number

	Fence int64 // the newest fencing token of the name; 0 if none was ever minted

	// Since is when the newest fencing token was minted. For a lock that one holder has, and that holdfast took, that
	// is when Redis granted it. It is zero if it is not known, as for permits. Java's locks mint no tokens, other than
	// RFencedLock's, which do not tell the time: if Java holds a name that Go locks as well, Since may be too early.
	Since time.Time
}

// Free reports that nobody holds the lock and nobody is known to wait: the entry says only that its name was in use
// within the last days, or that a semaphore or latch exists.
func (e *Entry) Free() bool { return e.Held == 0 && e.Waiters == 0 }

// List tells the locks in Redis whose names match a pattern, this module's and Redisson's, on a cluster those of all
// primaries. They are names of this client: keys without its ClientOptions.Prefix are left out. A pattern is one of
// Redis's SCAN: "order:*", or "*" for all. An empty one is an *[ArgumentError], because an empty name is no lock's, and
// must not stand for all of them. A pattern without *, ? and [ is a name, and is looked up without a scan; [Quote]
// makes one of any name.
//
//	for entry, err := range rlock.List(ctx, client, "order:*") {
//		if err != nil {
//			return err
//		}
//		fmt.Println(entry.Name, entry.Kind, entry.Held, entry.Waiters)
//	}
//
// Names that were locked within the last days (ClientOptions.FenceTTL) and are free now are among them: skip those that
// are [Entry.Free]. A counting semaphore or a latch is found while somebody waits for it, and for about a minute after
// it was used: the number that it is could be any program's.
//
// List walks the whole database, some hundred keys at a time. It never holds Redis up, and needs little memory here:
// big locks are told in part, and each name is told once among any half million. What changes while it walks may be
// told as it was or as it is. If one server of a cluster fails, its error is told, and the others follow.
func List(ctx context.Context, client *Client, pattern string) iter.Seq2[Entry, error] {
	return func(yield func(Entry, error) bool) {
		c := (*redisclient.Client)(client)
		source, err := search(c, pattern)
		if err != nil {
			yield(Entry{}, err)
			return
		}
		core, _ := c.Core()
		source.List(ctx, core.Pattern(pattern), func(found listing.Entry, err error) bool {
			var ours bool
			if found.Name, ours = core.Name(found.Name); !ours && err == nil {
				return true
			}
			return yield(entry(found, core.ClientID), listError(ctx, "list locks", err))
		})
	}
}

// search returns what List and Leaks look at, if they have something to look for.
func search(client *redisclient.Client, pattern string) (*listing.Source, error) {
	if pattern == "" {
		return nil, &ArgumentError{Name: "pattern", Problem: `must not be empty; "*" matches every name`}
	}
	return client.Source()
}

// entry is what List yields of what was found.
func entry(found listing.Entry, client string) Entry {
	e := Entry{
		Name: found.Name, Kind: Kind(found.Kind), Mode: found.Mode, WaitersUnknown: found.Waiters < 0,
		Number: found.Number, NoCapacity: found.NoCapacity, Fence: found.Fence, Since: found.Since,
		Info: Info{Held: found.Held, Waiters: max(found.Waiters, 0), Truncated: found.Held > len(found.Holders)},
	}
	for _, h := range found.Holders {
		e.Holders = append(e.Holders, Holder{
			ID: h.ID, Count: int(h.Count), TTL: h.TTL, Fence: found.Fence, Owner: h.Owner,
			Mine: strings.HasPrefix(h.ID, client+":"),
		})
	}
	return e
}

// Quote returns the pattern that matches only name. That of an empty name, which no lock has, is refused by [List].
func Quote(name string) string { return listing.Quote(name) }

// Leak is a key that should expire and never will: nobody renews it, and nothing but [Free] ends it. This module and
// Redisson write such keys with an expiry in one step, so a leak comes from another program, or from PERSIST.
type Leak struct {
	Key     string
	Name    string   // the lock that it belongs to
	What    string   // what it is, and why that is bad
	Holders []string // of a lock, the ids of its holds
}

// Leaks tells the leaks of names that match a pattern, as [List] tells locks. Some keys have no expiry by design, and
// are no leaks: the capacity of a semaphore and its permits, the count of a latch, Redisson's queues, and fencing
// tokens with a negative ClientOptions.FenceTTL or of Java.
func Leaks(ctx context.Context, client *Client, pattern string) iter.Seq2[Leak, error] {
	return func(yield func(Leak, error) bool) {
		c := (*redisclient.Client)(client)
		source, err := search(c, pattern)
		if err != nil {
			yield(Leak{}, err)
			return
		}
		core, _ := c.Core()
		source.Leaks(ctx, core.Pattern(pattern), func(found listing.Leak, err error) bool {
			var ours bool
			if found.Name, ours = core.Name(found.Name); !ours && err == nil {
				return true
			}
			return yield(Leak(found), listError(ctx, "look for leaks", err))
		})
	}
}

// Free deletes a leak, and wakes those who wait for the lock. It reports false, and changes nothing, if the key expires
// by now, is gone, or holds something else. A holder that is still at work does not learn of it, other than by its
// fencing token: nothing renews such a lock, so nobody asks for it.
func Free(ctx context.Context, client *Client, leak Leak) (freed bool, err error) {
	source, err := (*redisclient.Client)(client).Source()
	if err != nil {
		return false, err
	}
	freed, err = source.Free(ctx, listing.Leak(leak))
	return freed, listError(ctx, "free a leak", err)
}

// listError says what failed.
func listError(ctx context.Context, what string, err error) error {
	switch {
	case err == nil:
		return nil
	case ctx.Err() != nil:
		return fmt.Errorf("rlock: cannot %s: %w", what, engine.ContextError(ctx))
	case errors.Is(err, redis.ErrClosed):
		return fmt.Errorf("rlock: cannot %s: %w", what, ErrClosed)
	}
	kind, cause := vocabulary.Errors.Unanswered(redisstore.Meaning(err))
	return fmt.Errorf("rlock: cannot %s: %w: %w", what, kind, cause)
}
