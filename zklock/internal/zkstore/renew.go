package zkstore

import (
	"context"
	"errors"
	"sync"

	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/watchdog"
)

// Renew implements [store.Store]: each session in which holds are is attached anew, all beside one another. What that
// finds says which of the holds stand: a node that was deleted, by an operator or Break, does not come back by it. Many
// holds come in several calls, of which the first one's handshake serves all: they stand for as much less as it was
// sent earlier.
func (s *Store) Renew(ctx context.Context, all []store.Renewal) {
	sent, cancel, err := s.begin(ctx)
	if err != nil {
		for i := range all {
			all[i].Err = err
		}
		return
	}
	defer cancel()
	of := make(map[*session][]*renewal)
	for i := range all {
		one := &renewal{Renewal: &all[i]}
		all[i].Err = watchdog.ErrGone
		var n *session
		if n, one.place = s.find(all[i].Proto.(*Lock), all[i].ID); n != nil {
			of[n] = append(of[n], one)
		}
	}
	var renewing sync.WaitGroup
	for n, some := range of {
		renewing.Go(func() { n.renew(sent, some) })
	}
	renewing.Wait()
}

// renewal is that of one hold.
type renewal struct {
	*store.Renewal
	place *place
}

func (n *session) renew(ctx context.Context, all []*renewal) {
	s := n.store
	began := s.host.Clock.Now()
	err := n.attach(ctx, func() bool { return s.proven(n) })
	if errors.Is(err, errOver) && !errors.Is(err, errSpent) {
		return // they are gone
	}
	since, _ := n.valid()
	for _, one := range all {
		switch {
		case err != nil:
			one.Err = meaning(err)
		case n.stands(one.place):
			one.Err = nil
			one.TTL -= max(began-s.counts(since, began, one.TTL), 0)
		}
	}
}
