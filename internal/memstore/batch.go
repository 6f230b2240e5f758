package memstore

import (
	"context"
	"fmt"
	"slices"

	"github.com/holdfast-go/holdfast/internal/serverclock"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/watchdog"
)

// ReleaseEach implements [store.Store].
func (s *Store) ReleaseEach(ctx context.Context, all []*store.Parting) {
	sent := s.host.Clock.Now()
	now, err := s.release(ctx, all)
	if err == nil {
		s.clocks.Observe(s.Node(""), sent, s.host.Clock.Now(), now)
	}
	for _, one := range all {
		one.Err, one.Again = err, 0
		if err == nil && one.Late > 0 {
			one.Again = serverclock.Again(one.Late, now)
		}
	}
}

// ReleaseAll implements [store.Store].
func (s *Store) ReleaseAll(ctx context.Context, all []*store.Parting) error {
	_, err := s.release(ctx, all)
	return err
}

// release releases all by one request, and returns the server's time.
func (s *Store) release(ctx context.Context, all []*store.Parting) (now int64, err error) {
	asked := slices.Clone(all) // which a late copy reads
	got, err := exchange(ctx, s, Release, all[0].Proto.Key(), func() (got dated[[]store.ReleaseReply], _ error) {
		got.now = s.server.microsLocked()
		for _, one := range asked {
			if s.server.rowLocked(one.Proto.Key()) {
				return got, errRefused
			}
		}
		for _, one := range asked {
			got.reply = append(got.reply, one.Proto.(*bound).release(one.ID))
		}
		return got, nil
	})
	for i := range got.reply {
		all[i].Reply = got.reply[i]
	}
	return got.now, err
}

// Renew implements [store.Store].
func (s *Store) Renew(ctx context.Context, all []store.Renewal) {
	if len(all) == 0 {
		return // what was due ended meanwhile
	}
	asked := make([]store.Renewal, len(all)) // which a late copy reads
	copy(asked, all)
	gone, err := exchange(ctx, s, Renew, all[0].Proto.Key(), func() ([]bool, error) {
		gone := make([]bool, len(asked))
		for i, one := range asked {
			gone[i] = !one.Proto.(*bound).renew(one.ID, one.TTL)
		}
		return gone, nil
	})
	for i := range all {
		switch {
		case err != nil:
			all[i].Err = err
		case gone[i]:
			all[i].Err = watchdog.ErrGone
		default:
			all[i].Err = nil
		}
	}
}

// AcquireAll implements [store.Store].
func (s *Store) AcquireAll(
	ctx context.Context, members []store.Member, id string, when store.Timing,
) (reply store.AcquireAllReply, receipt store.Receipt, err error) {
	for _, m := range members {
		if !m.Proto.Traits().InSets {
			return reply, receipt, &store.Refused{Err: fmt.Errorf("%w: %q", errUnsupported, m.Proto.Name())}
		}
	}
	do := func(serverclock.Window) (store.AcquireAllReply, error) {
		return s.server.acquireAllLocked(members, id), nil
	}
	return timed(ctx, s, Acquire, members[0].Proto.Key(), store.Ask{Timing: when}, false, do)
}

func (s *Server) acquireAllLocked(members []store.Member, id string) store.AcquireAllReply {
	reply := store.AcquireAllReply{Status: store.Already}
	for i, m := range members {
		switch l := s.lockLocked(m.Proto.Key()); {
		case s.rowLocked(m.Proto.Key()):
			return store.AcquireAllReply{Status: store.Busy, Which: i, PTTL: rowPoll}
		case l == nil:
			reply.Status = store.Held
		case l.id != id:
			recalled := s.wantLocked(m.Proto.Key(), l.id)
			return store.AcquireAllReply{
				Status: store.Busy, Which: i, PTTL: s.leftLocked(l.expires), Recalled: recalled,
			}
		}
	}
	for _, m := range members {
		one, _ := m.Proto.(*bound).acquire(timedAsk{Ask: store.Ask{ID: id, Lease: m.Lease}})
		reply.Fences = append(reply.Fences, one.Fence)
	}
	return reply
}
