package request

import (
	"context"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/internal/crash"
	"github.com/holdfast-go/holdfast/internal/store"
)

// Release releases a hold once, within the time limit of a command, and not after end.
//
// The bound of a release is absolute: end, and not a time for each step on the way. A connection that has to be made,
// with its TLS handshake and its greeting, uses up the same time as the command. An unlock that is promised to return
// after five seconds does so although the server was replaced meanwhile and every attempt has to dial.
func (s *Sender) Release(
	ctx context.Context, p store.Protocol, id string, end time.Duration,
) (reply store.ReleaseReply, err error) {
	era, sent := s.ledger.era(), s.cfg.Clock.Now()
	ctx = s.cfg.Store.WithinAll(ctx, s.Limit(s.cfg.Lease), end-s.cfg.Clock.Now())
	err = Exchange(crash.Release, func() (err error) {
		reply, err = p.Release(ctx, id)
		return err
	})
	s.Noted(Event{Of: p, Node: s.cfg.Store.Node(p.Key()), Sent: sent, Err: err})
	if err == nil {
		s.ledger.confirm(era, p, id)
	}
	return reply, err
}

// Era is taken before a request is sent that ends holds, and handed to Ended after.
func (s *Sender) Era() int { return s.ledger.era() }

// Ended notes that a hold's end was confirmed: a primary that is replaced afterwards may have confirmed it alone.
func (s *Sender) Ended(era int, p store.Protocol, id string) { s.ledger.confirm(era, p, id) }

// ReleaseAll releases ids, and those that were owed when the Sender was closed, in batches, and again those that got no
// answer, until end. A node that is known not to answer is given up before. Each node is asked beside the others, so
// that a node that hangs costs the others nothing of their time.
//
// ReleaseAll is for Close, which nothing may outlast: no goroutine works on the ledger any more, and no caller is left
// to be told. What is left at end is freed by its lease.
func (s *Sender) ReleaseAll(ids []Disowned, end time.Duration) {
	at := make(map[string][]Disowned)
	for _, o := range append(ids, s.ledger.rest()...) {
		node := s.cfg.Store.Node(o.Proto.Key())
		at[node] = append(at[node], o)
	}
	var all sync.WaitGroup
	for node, some := range at {
		all.Go(func() { s.releaseAt(node, some, end) })
	}
	all.Wait()
}

// releaseAt is ReleaseAll for one node.
func (s *Sender) releaseAt(node string, ids []Disowned, end time.Duration) {
	for pause := FirstPause; ; pause = min(2*pause, LastPause) {
		ids = s.releaseOnce(node, ids, end)
		if len(ids) == 0 || s.cfg.Clock.Now()+pause >= s.ledger.until(node, end) {
			return
		}
		<-time.After(pause) // bounded by end; there is nothing else to wait for
	}
}

// releaseOnce sends one release for each and returns those that got no answer.
func (s *Sender) releaseOnce(node string, ids []Disowned, end time.Duration) (silent []Disowned) {
	for len(ids) > 0 {
		batch := ids[:min(len(ids), Batch)]
		ids = ids[len(batch):]
		left := s.ledger.until(node, end) - s.cfg.Clock.Now()
		if left <= 0 {
			return nil
		}
		all := make([]*store.Parting, len(batch))
		for i, o := range batch {
			all[i] = &store.Parting{Proto: o.Proto, ID: o.ID, Late: o.Late}
		}
		s.sendReleases(all, min(left, s.Limit(s.cfg.Lease)))
		before := len(silent)
		for i, o := range batch {
			if kind := store.FaultOf(all[i].Err); kind == store.FaultAmbiguous || kind == store.FaultTransient {
				silent = append(silent, o)
			}
		}
		if len(silent)-before < len(batch) {
			s.ledger.answered(node)
		}
	}
	return silent
}

// sendReleases sends releases that nothing may hold up for longer than limit, be it the wait for a connection:
// so the context has a timer.
//
// The sender of another request returns at its limit, wherever the request stands by then. A batch is sent by Close
// itself, over connections that others may keep busy.
func (s *Sender) sendReleases(all []*store.Parting, limit time.Duration) {
	ctx, cancel := context.WithTimeout(context.Background(), limit)
	defer cancel()
	s.cfg.Store.ReleaseEach(ctx, all)
}
