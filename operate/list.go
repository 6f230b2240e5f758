package operate

import (
	"context"
	"errors"
	"iter"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/redisstore"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/internal/vocabulary"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/operate/internal/listing"
	"github.com/holdfast-go/holdfast/rlock"
)

// List tells the locks in Redis whose names match a pattern, this module's and Redisson's, on a cluster those of all
// primaries. They are names of this client: keys without its ClientOptions.Prefix are left out. A pattern is one of
// Redis's SCAN: "order:*", or "*" for all. An empty one is a *[lock.ArgumentError], because an empty name is no lock's,
// and must not stand for all of them. A pattern without *, ? and [ is a name, and is looked up without a scan; [Quote]
// makes one of any name.
//
// Names that were locked within the last days (ClientOptions.FenceTTL) and are free now are among them: skip those that
// are [lock.Entry.Free]. A counting semaphore or a latch is found while a client waits for it, and for about a minute
// after it was used: the number that it is could be any program's.
//
// List walks the whole database, some hundred keys at a time. It never holds Redis up, and needs little memory here:
// big locks are told in part, and each name is told once among any half million. What changes while it walks may be
// told as it was or as it is. If one server of a cluster fails, its error is told, and the others follow.
func List(ctx context.Context, client *rlock.Client, pattern string) iter.Seq2[lock.Entry, error] {
	return func(yield func(lock.Entry, error) bool) {
		at, err := search(client, pattern)
		if err != nil {
			yield(lock.Entry{}, err)
			return
		}
		at.source().List(ctx, at.pattern(pattern), func(found listing.Entry, err error) bool {
			var ours bool
			if found.Name, ours = at.name(found.Name); !ours && err == nil {
				return true
			}
			return yield(entry(found, at.ClientID), listError(ctx, "list locks", err))
		})
	}
}

// search returns where List and Leaks look, if they have something to look for.
func search(client *rlock.Client, pattern string) (place, error) {
	if pattern == "" {
		return place{}, &lock.ArgumentError{Name: "pattern", Problem: `must not be empty; "*" matches every name`}
	}
	return placeOf(client)
}

// entry is what List yields of what was found.
func entry(found listing.Entry, client string) lock.Entry {
	e := lock.Entry{
		Name: found.Name, Kind: lock.Kind(found.Kind), Mode: found.Mode, WaitersUnknown: found.Waiters < 0,
		Number: found.Number, NoCapacity: found.NoCapacity, Fence: found.Fence, Since: found.Since,
		Info: lock.Info{Held: found.Held, Waiters: max(found.Waiters, 0), Truncated: found.Held > len(found.Holders)},
	}
	for _, h := range found.Holders {
		e.Holders = append(e.Holders, lock.Holder{
			ID: h.ID, Count: int(h.Count), TTL: h.TTL, Fence: found.Fence, Owner: h.Owner,
			Mine: strings.HasPrefix(h.ID, client+":"), Kept: store.MayBeIdle(h.ID),
		})
	}
	return e
}

// Quote returns the pattern that matches only name. That of an empty name, which no lock has, is refused by [List].
func Quote(name string) string { return listing.Quote(name) }

// Leaks tells the leaks of names that match a pattern, as [List] tells locks. Some keys have no expiry by design, and
// are no leaks: the capacity of a semaphore and its permits, the count of a latch, Redisson's queues, and fencing
// tokens with a negative ClientOptions.FenceTTL or of Java.
func Leaks(ctx context.Context, client *rlock.Client, pattern string) iter.Seq2[lock.Leak, error] {
	return func(yield func(lock.Leak, error) bool) {
		at, err := search(client, pattern)
		if err != nil {
			yield(lock.Leak{}, err)
			return
		}
		at.source().Leaks(ctx, at.pattern(pattern), func(found listing.Leak, err error) bool {
			var ours bool
			if found.Name, ours = at.name(found.Name); !ours && err == nil {
				return true
			}
			return yield(lock.Leak(found), listError(ctx, "look for leaks", err))
		})
	}
}

// Free deletes a leak, and wakes the calls that wait for the lock. It reports false, and changes nothing, if the key
// expires by now, is gone, or holds something else. A holder that is still at work does not learn of it, other than by
// its fencing token: nothing renews such a lock, and so no answer says that it is gone.
func Free(ctx context.Context, client *rlock.Client, leak lock.Leak) (freed bool, err error) {
	at, err := placeOf(client)
	if err != nil {
		return false, err
	}
	freed, err = at.source().Free(ctx, listing.Leak(leak))
	return freed, listError(ctx, "free a leak", err)
}

var words = vocabulary.Errors(redisstore.Name)

// listError says what failed.
func listError(ctx context.Context, what string, err error) error {
	if err == nil {
		return nil
	}
	return vocabulary.Failure(ctx, words, what, errors.Is(err, redis.ErrClosed), redisstore.Meaning(err))
}
