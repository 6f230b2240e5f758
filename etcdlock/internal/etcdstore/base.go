package etcdstore

import (
	"context"
	"fmt"
	"strconv"
	"time"

	"go.etcd.io/etcd/api/v3/mvccpb"
	clientv3 "go.etcd.io/etcd/client/v3"

	"github.com/holdfast-go/holdfast/internal/store"
)

// tokensEach is how many tokens a revision has: that many turns of a process can follow one another without a request.
const tokensEach = 1024

// fence is the newest token of a key that was made at a revision, above a base.
//
// The base is read by the transaction that finds the key first. Of two holds of a name the later one found itself first
// after the earlier one had left, so the base that it read is no lower, and its revision is higher. A call that
// raises the base meanwhile raises the tokens, and has to tell nobody.
//
// It is 0 if there is none: somebody has written a base into etcd above which no token can grow.
func fence(base, revision int64) int64 { return max(base+revision*tokensEach+tokensEach-1, 0) }

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

func (s *Store) baseKey() string { return s.own + "base" }

// baseOf is the base of tokens in what was read of its key; 0: there was none.
func baseOf(found *mvccpb.KeyValue) (int64, error) {
	if found == nil {
		return 0, nil
	}
	base, err := strconv.ParseInt(string(found.Value), 10, 64)
	if err != nil || base <= 0 {
		return 0, fmt.Errorf("%w: %q has %q, which is no base of tokens", store.ErrConflict, found.Key, found.Value)
	}
	return base, nil
}

// based is the base of tokens in what was read of its key. If there was none, one is made. If it is lower than one
// that this client has used, it is raised to that: somebody has deleted it, and a client that did not know it has
// made another one, or etcd was restored from a snapshot that is older than a call of Rebase.
func (s *Store) based(ctx context.Context, found *mvccpb.KeyValue) (base int64, err error) {
	for { // another client may raise it at the same time
		if base, err = baseOf(found); err != nil {
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
			// etcd, whose revisions are small numbers.
			least = max(least, time.Now().UnixMicro())
		}
		if found, err = s.raise(ctx, base, least); err != nil {
			return 0, err
		}
	}
}

// raise has the base of tokens be another one, if it is what it was read as; 0: there is none. It returns what is there
// then.
func (s *Store) raise(ctx context.Context, old, base int64) (*mvccpb.KeyValue, error) {
	key := s.baseKey()
	unchanged := clientv3.Compare(clientv3.CreateRevision(key), "=", 0)
	if old > 0 {
		unchanged = clientv3.Compare(clientv3.Value(key), "=", strconv.FormatInt(old, 10))
	}
	get := clientv3.OpGet(key)
	reply, err := s.commit(ctx, []clientv3.Cmp{unchanged},
		[]clientv3.Op{clientv3.OpPut(key, strconv.FormatInt(base, 10)), get}, []clientv3.Op{get})
	if err != nil {
		return nil, meaning(err)
	}
	return one(reply.Responses[len(reply.Responses)-1]), nil
}

// Rebase goes above the clock by leap, the tokens of a billion revisions, and by steep times the time since began.
// The revisions of an etcd that was restored begin again, so what was issued before is known by nothing but the
// clock: a call is above the tokens of an earlier one whatever was restored since, if there were no more than steep
// revisions a millisecond in between.
const (
	leap  = int64(1) << 40
	steep = 3
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

// rebase reports whether it has raised the base. It has not if that changed meanwhile, and is not sure if the request
// was sent twice and the copy found another base: to raise it once more does no harm.
func (s *Store) rebase(ctx context.Context) (done bool, err error) {
	old, err := s.based(ctx, nil)
	if err != nil {
		return false, err
	}
	next := above(old, time.Now())
	if next < 0 {
		return false, errGrown
	}
	reply, err := s.txn(ctx, "rebase", 1,
		[]clientv3.Cmp{clientv3.Compare(clientv3.Value(s.baseKey()), "=", strconv.FormatInt(old, 10))},
		[]clientv3.Op{clientv3.OpPut(s.baseKey(), strconv.FormatInt(next, 10))}, nil)
	if err != nil {
		return false, err
	}
	return reply.Succeeded, nil
}
