package listing

import (
	"context"
	"errors"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/keys"
)

// Leak is a key that should expire and never will.
type Leak struct {
	Key     string
	Name    string // of the lock that it belongs to
	What    string
	Holders []string // of a lock: whose holds these are
}

// What a leak is. Capacities and counts, permits without a lease, and the tokens of locks that only Java takes never
// expire either; that is their design, and they are not among these.
const (
	leakedLock     = "a lock without expiry, which nobody renews and which never ends"
	leakedReader   = "the lease of a reader, without expiry: it counts as alive for ever"
	leakedMark     = "a key beside a lock, without expiry"
	leakedResponse = "the result of one of Redisson's requests, without expiry"
)

// transient sorts a key that both libraries write with an expiry, other than locks themselves.
func transient(key string) (what, name string) {
	switch {
	case strings.HasPrefix(key, unlockLatch):
		rest := strings.TrimPrefix(key, unlockLatch)
		return leakedResponse, nameOf(rest[:max(strings.LastIndexByte(rest, ':'), 0)])
	case readerKey.MatchString(key):
		name = key[:readerKey.FindStringIndex(key)[0]]
		return leakedReader, nameOf(name)
	case strings.HasPrefix(key, keys.Owner("")):
		return leakedMark, ""
	case strings.HasPrefix(key, ownPrefix):
		_, rest, _ := strings.Cut(key, ":")
		return leakedMark, nameOf(rest)
	}
	return "", ""
}

// Leaks tells the leaks that belong to names that match a pattern, until yield returns false. Of a server that
// cannot be asked it tells the error, and goes on with the next one.
func (s *Source) Leaks(ctx context.Context, pattern string, yield func(Leak, error) bool) {
	nodes, err := s.nodes(ctx)
	if err != nil {
		yield(Leak{}, err)
		return
	}
	l := &leaks{lister: lister{Source: s, pattern: pattern}, yield: yield}
	for _, node := range nodes {
		more, err := l.scan(ctx, node, around(pattern), func(keys []string) bool { return l.some(ctx, node, keys) })
		if err != nil {
			more = yield(Leak{}, err)
		}
		if !more {
			return
		}
	}
}

// leaks is one search for leaks.
type leaks struct {
	lister
	yield func(Leak, error) bool
}

// some tells the leaks among some keys.
func (l *leaks) some(ctx context.Context, node *redis.Client, found []string) (more bool) {
	locks, marks := make(map[string]evidence), make(map[string]*redis.DurationCmd)
	err := l.pipeline(ctx, func(pipe redis.Pipeliner) {
		for _, key := range found {
			switch what, name := transient(key); {
			case what == "":
				l.add(locks, key, func(key string) (string, evidence) {
					if name, is := named(key); is == ofKey {
						return name, is
					}
					return "", 0
				})
			case Match(l.pattern, name) && !l.told.has(key):
				marks[key] = pipe.PTTL(ctx, key)
			}
		}
	})
	if err != nil {
		return l.yield(Leak{}, err)
	}
	for key, left := range marks {
		if left.Err() == nil && left.Val() == noExpiry {
			what, name := transient(key)
			l.told.add(key)
			if !l.yield(Leak{Key: key, Name: name, What: what}, nil) {
				return false
			}
		}
	}
	if len(locks) == 0 {
		return true
	}
	more = true
	held := lister{Source: l.Source, pattern: l.pattern, yield: func(e Entry, err error) bool {
		if err != nil || !e.Forever {
			more = err == nil || l.yield(Leak{}, err)
			return more
		}
		l.told.add(e.Name)
		leak := Leak{Key: e.Name, Name: e.Name, What: leakedLock}
		for _, h := range e.Holders {
			leak.Holders = append(leak.Holders, h.ID)
		}
		more = l.yield(leak, nil)
		return more
	}}
	held.look(ctx, node, locks)
	return more
}

// errChanged ends a transaction on a key that is no leak, or none any more.
var errChanged = errors.New("the key is no leak any more")

// Free deletes a key that was told as a leak, and wakes those who wait for the lock. It reports false, and changes
// nothing, if the key has an expiry by now, is gone or is something else. What it checks and what it deletes is one
// transaction: if anybody writes the key in between, nothing is deleted.
func (s *Source) Free(ctx context.Context, leak Leak) (freed bool, err error) {
	sharded, err := s.Sharded(s.Within(ctx))
	if err != nil {
		return false, err
	}
	err = s.Client.Watch(s.Within(ctx), func(tx *redis.Tx) error {
		left, err := tx.PTTL(s.Within(ctx), leak.Key).Result()
		if err != nil {
			return err
		}
		if left != noExpiry {
			return errChanged
		}
		what, _ := transient(leak.Key)
		var mode bool
		if what == "" {
			if mode, err = s.lockAt(ctx, tx, leak.Key); err != nil {
				return err
			}
		}
		_, err = tx.TxPipelined(s.Within(ctx), func(pipe redis.Pipeliner) error {
			pipe.Del(ctx, leak.Key)
			switch {
			case what != "":
			case mode:
				publish(ctx, pipe, sharded, keys.Prefix(rwChannel, leak.Key), "1")
			default:
				publish(ctx, pipe, sharded, keys.Prefix(lockChannel, leak.Key), "0")
			}
			return nil
		})
		return err
	}, leak.Key)
	if errors.Is(err, errChanged) || errors.Is(err, redis.TxFailedErr) || redis.HasErrorPrefix(err, "WRONGTYPE") {
		return false, nil
	}
	return err == nil, err
}

// lockAt makes sure that a lock stands at the key, and reports whether it is a read-write lock.
func (s *Source) lockAt(ctx context.Context, tx *redis.Tx, key string) (mode bool, err error) {
	e := looked{
		size: tx.HLen(s.Within(ctx), key), mode: tx.HExists(s.Within(ctx), key, "mode"),
		sample: tx.HRandField(s.Within(ctx), key, 4),
	}
	if err := errors.Join(e.size.Err(), e.mode.Err(), e.sample.Err()); err != nil {
		return false, err
	}
	if e.foreign() {
		return false, errChanged
	}
	return e.mode.Val(), nil
}

func publish(ctx context.Context, pipe redis.Pipeliner, sharded bool, channel, message string) {
	if sharded {
		pipe.SPublish(ctx, channel, message)
		return
	}
	pipe.Publish(ctx, channel, message)
}
