package memstore

import (
	"context"
	"slices"

	"github.com/holdfast-go/holdfast/internal/store"
)

// listener is a subscription as the server knows it: which of the client's attempts it was.
type listener struct {
	sub *subscription
	try uint64
}

// listen has a subscription get the messages of its channel. The client's mutex is held.
func (s *Server) listen(sub *subscription, try uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropLocked(sub)
	s.channels[sub.channel] = append(s.channels[sub.channel], listener{sub, try})
}

// drop ends that.
func (s *Server) drop(sub *subscription) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.dropLocked(sub)
}

func (s *Server) dropLocked(sub *subscription) {
	s.channels[sub.channel] = slices.DeleteFunc(s.channels[sub.channel], func(l listener) bool { return l.sub == sub })
}

// publishLocked sends a message to all who listen, and tells how many those are. Each hears it by itself, or twice.
func (s *Server) publishLocked(channel string) int64 {
	all := s.channels[channel]
	for _, l := range all {
		of := l.sub.store
		fate := s.network.Fate(of.request(Message, channel))
		if fate.Lost {
			continue
		}
		of.late.after(fate.Before, func() { l.sub.hear(l.try) })
		if fate.Again > 0 {
			of.late.after(fate.Before+fate.Again, func() { l.sub.hear(l.try) })
		}
	}
	return int64(len(all))
}

// ListenWanted implements [store.Store].
func (s *Store) ListenWanted() {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	if s.server.keepers[s.host.Client] == nil {
		s.server.keepers[s.host.Client] = s
		s.late.after(0, s.host.Missed)
	}
}

// MayListen grants the client the right to listen to those who want its locks, or takes it away.
func (s *Store) MayListen(may bool) {
	s.server.mu.Lock()
	defer s.server.mu.Unlock()
	if may {
		s.server.keepers[s.host.Client] = s
		s.late.after(0, s.host.Missed)
		return
	}
	delete(s.server.keepers, s.host.Client)
	s.late.after(0, func() { s.host.Deaf("to listen") })
}

// TellBroken implements [store.Teller].
func (s *Store) TellBroken(ctx context.Context, key, id string) {
	_, _ = exchange(ctx, s, Tell, key, func() (struct{}, error) {
		if of := s.server.keepers[store.ClientOf(id)]; of != nil {
			s.server.tellLocked(of, key, func() { of.host.Broken(key, id) })
		}
		return struct{}{}, nil
	})
}

// tellLocked sends a message about a key to a client, which hears it by itself, or twice, or not at all.
func (s *Server) tellLocked(of *Store, key string, hears func()) {
	fate := s.network.Fate(of.request(Message, key))
	if fate.Lost {
		return
	}
	of.late.after(fate.Before, hears)
	if fate.Again > 0 {
		of.late.after(fate.Before+fate.Again, hears)
	}
}

// wantLocked tells the client of an id that another one waits for a key, if it is the id of a grant that may be idle.
func (s *Server) wantLocked(key, id string) bool {
	if !store.MayBeIdle(id) {
		return false
	}
	if of := s.keepers[store.ClientOf(id)]; of != nil {
		s.tellLocked(of, key, func() { of.host.Wanted(key, id) })
	}
	return true
}
