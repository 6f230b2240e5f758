package memstore

import (
	"slices"
	"strings"

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
	s.server.keepers[s.host.Client] = s
}

// wantLocked tells the client of an id that another one waits for a key, if it is the id of a grant that may be idle.
func (s *Server) wantLocked(key, id string) bool {
	if !store.MayBeIdle(id) {
		return false
	}
	client, _, _ := strings.Cut(id, ":")
	if of := s.keepers[client]; of != nil {
		fate := s.network.Fate(of.request(Message, key))
		if !fate.Lost {
			of.late.after(fate.Before, func() { of.host.Wanted(key, id) })
		}
		if !fate.Lost && fate.Again > 0 {
			of.late.after(fate.Before+fate.Again, func() { of.host.Wanted(key, id) })
		}
	}
	return true
}
