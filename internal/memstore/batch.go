package memstore

import (
	"context"
	"fmt"

	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/watchdog"
)

// ReleaseEach implements [store.Store].
func (s *Store) ReleaseEach(ctx context.Context, all []*store.Parting) {
	if err := s.ReleaseAll(ctx, all); err != nil {
		for _, one := range all {
			one.Err = err
		}
		return
	}
	for _, one := range all {
		one.Settled = one.Reply.Now > one.NotAfter
	}
}

// ReleaseAll implements [store.Store].
func (s *Store) ReleaseAll(ctx context.Context, all []*store.Parting) error {
	replies, err := exchange(ctx, s, Release, all[0].Proto.Key(), func() ([]store.ReleaseReply, error) {
		replies := make([]store.ReleaseReply, len(all))
		for i, one := range all {
			replies[i] = one.Proto.(*bound).releaseNow(one.ID)
		}
		return replies, nil
	})
	for i := range replies {
		all[i].Reply = replies[i]
	}
	return err
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
	ctx context.Context, members []store.Member, id string, notAfter int64,
) (store.AcquireAllReply, error) {
	for _, m := range members {
		if !m.Proto.Traits().Joins {
			return store.AcquireAllReply{}, &store.Refused{Err: fmt.Errorf("%w: %q", errUnsupported, m.Proto.Name())}
		}
	}
	return exchange(ctx, s, Acquire, members[0].Proto.Key(), func() (store.AcquireAllReply, error) {
		return s.server.acquireAllLocked(members, id, notAfter), nil
	})
}

func (s *Server) acquireAllLocked(members []store.Member, id string, notAfter int64) store.AcquireAllReply {
	reply := store.AcquireAllReply{Status: store.Already, Now: s.microsLocked()}
	if reply.Now > notAfter {
		reply.Status = store.Late
		return reply
	}
	for i, m := range members {
		switch l := s.lockLocked(m.Proto.Key()); {
		case l == nil:
			reply.Status = store.Held
		case l.id != id:
			return store.AcquireAllReply{Status: store.Busy, Which: i, PTTL: s.leftLocked(l.expires), Now: reply.Now}
		}
	}
	for _, m := range members {
		one, _ := m.Proto.(*bound).acquire(store.Ask{ID: id, Lease: m.Lease})
		reply.Fences = append(reply.Fences, one.Fence)
	}
	return reply
}
