package zkstore

import (
	"context"
	"errors"
	"fmt"
	"strconv"
	"time"

	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/zklock/internal/wire"
)

// tokensEach is how many tokens a change has: that many turns of a process can follow one another without a request.
// A change of the leader costs 2^32 changes, so with 256 tokens each there are 6,500 of those below 2^53, from where on
// a float64 is too small for tokens, as in JavaScript.
const tokensEach = 256

// fence is the newest token of a node that was made by a change, above a base.
//
// The base is read behind the look that finds the node first. Of two holds of a name the later one found itself first
// after the earlier one had left, so the base that it read is no lower, and its change is later. A call that raises the
// base meanwhile raises the tokens, and has to tell nobody.
//
// It is 0 if there is none: somebody has written a base above which no token can grow.
func fence(base, czxid int64) int64 {
	if czxid > (1<<63-1-base)/tokensEach-1 {
		return 0
	}
	return base + czxid*tokensEach + tokensEach - 1
}

var errGrown = fmt.Errorf("%w: the fencing token cannot grow any more", store.ErrConflict)

// granted notes that a token was granted.
func (s *Store) granted(fence int64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.newest = max(s.newest, fence)
}

// Newest is the highest token that this client was granted.
func (s *Store) Newest() int64 {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.newest
}

func (s *Store) basePath() string { return join(s.cfg.Own, "base") }

// baseOf is the base of tokens in what was read of its node, and the version of that; 0: there was none.
func (s *Store) baseOf(r wire.Reply) (base int64, version int32, err error) {
	data, stat, err := r.Data()
	switch {
	case errors.Is(err, wire.NoNode):
		return 0, 0, nil
	case err != nil:
		return 0, 0, meaning(err)
	}
	base, err = strconv.ParseInt(string(data), 10, 64)
	if err != nil || base <= 0 {
		return 0, 0, fmt.Errorf("%w: %q has %q, which is no base of tokens", store.ErrConflict, s.basePath(), data)
	}
	return base, stat.Version, nil
}

// based is the base of tokens in what was read of its node. If there was none, one is made. If it is lower than one
// that this client has used, it is raised to that: somebody has deleted it, and a client that did not know it has made
// another one, or data were restored that are older than a call of Rebase.
func (s *Store) based(ctx context.Context, found wire.Reply) (base int64, err error) {
	for { // another client may raise it at the same time
		var version int32
		if base, version, err = s.baseOf(found); err != nil {
			return 0, err
		}
		s.mu.Lock()
		s.base = max(s.base, base)
		least := s.base
		s.mu.Unlock()
		if base > 0 && base >= least {
			return base, nil
		}
		if base == 0 {
			// The time in microseconds, as other stores' tokens are: so tokens do not fall when a program moves to
			// ZooKeeper, whose changes are small numbers.
			least = max(least, time.Now().UnixMicro())
		}
		if _, err = s.raise(ctx, base, version, least); err != nil {
			return 0, err
		}
		replies, err := s.asks(ctx, "acquire", wire.Get(s.basePath()))
		if err != nil {
			return 0, err
		}
		found = replies[0]
	}
}

// raise has the base of tokens be another one, if it has the version with which it was read; an old one of 0 is none.
// It reports whether it did: the base may have changed meanwhile.
func (s *Store) raise(ctx context.Context, old int64, version int32, base int64) (done bool, err error) {
	data := []byte(strconv.FormatInt(base, 10))
	reqs := []wire.Request{wire.Set(s.basePath(), data, version)}
	if old == 0 {
		reqs = append(s.ancestors(s.basePath()), wire.Create(s.basePath(), data, s.cfg.ACL))
	}
	replies, err := s.asks(ctx, "rebase", reqs...)
	if err != nil {
		return false, err
	}
	switch last := replies[len(replies)-1].Err; {
	case old == 0:
		return last == nil, made(replies)
	case errors.Is(last, wire.BadVersion), errors.Is(last, wire.NoNode):
		return false, nil
	default:
		return last == nil, meaning(last)
	}
}

// Rebase goes above the clock by leap, the tokens of 32 changes of the leader, and by steep times the time since began,
// that of one change of the leader a day. The changes of a ZooKeeper whose data were restored begin again, so what was
// issued before is known by nothing but the clock: a call is above the tokens of an earlier one whatever was restored
// since, if the leader did not change more often than that.
const (
	leap  = int64(1) << 45
	steep = 13
)

var began = time.Date(2026, time.January, 1, 0, 0, 0, 0, time.UTC)

// above is what Rebase raises a base to at an instant; below 0: there is no such number.
func above(old int64, now time.Time) int64 {
	next := now.UnixMicro() + leap + steep*max(now.Sub(began).Microseconds(), 0)
	if next <= old { // a clock was ahead
		next = old + leap
	}
	return next
}

// Rebase raises the base of tokens. If another call has just raised it, this one goes above that: what the other knew
// of the time may be older.
func (s *Store) Rebase(ctx context.Context) error {
	sent, cancel, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer cancel()
	for done := false; err == nil && !done; {
		done, err = s.rebase(sent)
	}
	return err
}

func (s *Store) rebase(ctx context.Context) (done bool, err error) {
	replies, err := s.asks(ctx, "rebase", wire.Agree(), wire.Get(s.basePath()))
	if err != nil {
		return false, err
	}
	old, version, err := s.baseOf(replies[1])
	if err != nil {
		return false, err
	}
	next := above(old, time.Now())
	if next < 0 {
		return false, errGrown
	}
	return s.raise(ctx, old, version, next)
}
