package redisstore

import (
	"context"
	"errors"
	"fmt"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/serverclock"
	"github.com/holdfast-go/holdfast/internal/store"
)

// learnSlots records what a refusal says about slots.
//
// A client of one address may still talk to a server that wants the keys of a script in one slot: a cluster of one
// node, or a proxy before a larger one. That shows when a script of several locks is refused, which may happen at
// any time: one of a set, a batch of renewals, or a bundle of the pipe, which shares the flag. The locks are then
// served one by one, and from then on slot by slot. A refused script did not run, so no new doubt arises.
//
// Two goroutines may learn it at the same time, and a third may already send another script of several slots.
// That one is refused too, and served one by one.
func (s *Store) learnSlots(err error) {
	if luacall.Crossed(err) {
		s.oneSlot.Store(true)
	}
}

// refusesMany reports that what was refused as one script may be carried out as several. A slot that is being
// migrated answers scripts of several keys with TRYAGAIN until the end; scripts of one key work all the time.
// Proxies have their own wording, and one lock may be forbidden where others are not. Scripts that find their own
// ways handle this themselves.
func (s *Store) refusesMany(err error) bool {
	return s.links.Traffic != nil && (redis.IsTryAgainError(err) || refusedScript(err))
}

// refusedScript reports that a server refused a script, which did not run then. That WAIT or WAITAOF was refused after
// it says nothing about the script.
func refusedScript(err error) bool {
	var short *store.ShortfallError
	return luacall.Refused(err) && !errors.As(err, &short)
}

// AcquireAll implements [store.Store]. If it is forbidden, some locks may have been taken already, just as when they
// are taken one by one.
//
// The members' scripts run as one, which nothing can come in between, so the answer holds for all members at
// one moment. ErrApart is returned only if the script was refused. The refusal of an unknown proxy may come after a
// part of it. A slot that is being migrated refuses until it has moved, which no smaller script would change: all of
// its keys must be at one node for a name that is free.
func (s *Store) AcquireAll(
	ctx context.Context, members []store.Member, id string, when store.Timing,
) (store.AcquireAllReply, store.Receipt, error) {
	all := make([]luacall.Member, len(members))
	for i, m := range members {
		take, _ := Unbind(m.Proto).(SetMember).Scripts()
		all[i] = luacall.Member{Acquirer: take, Lease: m.Lease.Milliseconds()}
	}
	key := members[0].Proto.Key()
	send := func(
		ctx context.Context, conn luacall.Conn, within serverclock.Window,
	) (luacall.AcquireAllReply, bool, error) {
		got, err := luacall.AcquireAll(all, id, within.NotAfter).Run(ctx, conn)
		s.noteUse(err == nil && got.Status.Wrote())
		return got, got.Status.Wrote(), err
	}
	got, receipt, err := timed(ctx, s, key, store.Ask{Timing: when}, send)
	s.learnSlots(err)
	if s.links.Traffic != nil && refusedScript(err) && !store.Denied(err) {
		err = &store.Failure{Fault: store.FaultAmbiguous, Err: fmt.Errorf("%w: %w", store.ErrApart, err)}
	}
	return got.AcquireAllReply, receipt, err
}

// ReleaseAll implements [store.Store].
//
// If it fails, none of the replies is set. After a lost answer the members may be released all the same; a release
// that is repeated is then answered "gone".
func (s *Store) ReleaseAll(ctx context.Context, all []*store.Parting) error {
	partings := make([]luacall.Parting, len(all))
	for i, one := range all {
		_, release := Unbind(one.Proto).(SetMember).Scripts()
		partings[i] = luacall.Parting{Releaser: release, ID: one.ID}
	}
	replies, err := luacall.ReleaseAll(partings, s.Sharded()).Run(ctx, s.traffic)
	if err == nil {
		for i, one := range all {
			one.Reply = replies[i].ReleaseReply
			s.noteUnheard(Unbind(one.Proto), one.Reply)
		}
		return nil
	}
	s.learnSlots(err)
	if luacall.Crossed(err) {
		return &store.Failure{Fault: store.FaultDefinite, Err: fmt.Errorf("%w: %w", store.ErrApart, err)}
	}
	return meaning(err) // while the slot is being migrated, some may have been released one by one
}

// ReleaseEach implements [store.Store].
//
// The releases share pipelines but are independent: each has its own reply or error. A script looks at the server's
// clock before it looks at the hold: if that is past the time until when a request for the id may be carried out,
// nothing can take it any more.
func (s *Store) ReleaseEach(ctx context.Context, all []*store.Parting) {
	calls := make([]*luacall.Call[luacall.ReleaseReply], len(all))
	for i, one := range all {
		calls[i] = Unbind(one.Proto).Release(one.ID, s.Sharded(), one.Late > 0)
	}
	sent := s.host.Clock.Now()
	luacall.RunAll(ctx, s.links.Traffic, calls)
	for i, one := range all {
		reply := calls[i].Reply
		one.Reply, one.Err, one.Again = reply.ReleaseReply, meaning(calls[i].Err), 0
		if one.Err == nil && one.Late > 0 {
			s.clocks.Observe(s.Node(one.Proto.Key()), sent, s.host.Clock.Now(), reply.Now)
			one.Again = serverclock.Again(one.Late, reply.Now)
		}
	}
}
