package etcdstore

import (
	"context"
	"errors"
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
func fence(base, revision int64) int64 { return base + revision*tokensEach + tokensEach - 1 }

func (s *Store) baseKey() string { return s.own + "base" }

// baseOf is the base of tokens in what was read of its key; 0: there was none.
func (s *Store) baseOf(found *mvccpb.KeyValue) (int64, error) {
	if found == nil {
		return 0, nil
	}
	base, err := strconv.ParseInt(string(found.Value), 10, 64)
	if err != nil || base <= 0 {
		return 0, fmt.Errorf("%w: %q has %q, which is no base of tokens", store.ErrConflict, found.Key, found.Value)
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	s.base = max(s.base, base)
	return base, nil
}

// based is the base of tokens in what was read of its key. If there was none, one is made.
func (s *Store) based(ctx context.Context, found *mvccpb.KeyValue) (int64, error) {
	if base, err := s.baseOf(found); base > 0 || err != nil {
		return base, err
	}
	return s.makeBase(ctx)
}

// makeBase makes the base of tokens, if there is none, and reads it. It is the time in microseconds, as other stores'
// tokens are: so tokens do not fall when a program moves to etcd, whose revisions are small numbers. If an
// operator has deleted the base, it comes back no lower than this client knew it.
func (s *Store) makeBase(ctx context.Context) (int64, error) {
	s.mu.Lock()
	base := max(time.Now().UnixMicro(), s.base)
	s.mu.Unlock()
	key := s.baseKey()
	get := clientv3.OpGet(key)
	reply, err := s.commit(ctx, []clientv3.Cmp{clientv3.Compare(clientv3.CreateRevision(key), "=", 0)},
		[]clientv3.Op{clientv3.OpPut(key, strconv.FormatInt(base, 10)), get}, []clientv3.Op{get})
	if err != nil {
		return 0, meaning(err)
	}
	return s.baseOf(one(reply.Responses[len(reply.Responses)-1]))
}

// leap is how much [Store.Rebase] adds: the tokens of a billion revisions.
const leap = int64(1) << 40

// Rebase raises the base of tokens.
func (s *Store) Rebase(ctx context.Context) error {
	sent, cancel, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer cancel()
	old, err := s.makeBase(sent)
	if err != nil {
		return err
	}
	next := max(old, time.Now().UnixMicro()) + leap
	reply, err := s.txn(sent, "rebase", 1,
		[]clientv3.Cmp{clientv3.Compare(clientv3.Value(s.baseKey()), "=", strconv.FormatInt(old, 10))},
		[]clientv3.Op{clientv3.OpPut(s.baseKey(), strconv.FormatInt(next, 10))}, nil)
	if err == nil && !reply.Succeeded {
		err = errors.New("another call has raised the base of tokens")
		err = &store.Failure{Fault: store.FaultTransient, Answered: true, Err: err}
	}
	return err
}
