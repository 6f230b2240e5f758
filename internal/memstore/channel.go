package memstore

import (
	"time"

	"github.com/holdfast-go/holdfast/internal/store"
)

const (
	linger = time.Second            // how long a subscription lasts that nobody waits on
	again  = 100 * time.Millisecond // until a subscription that was lost is tried anew
)

// subscription is a client's of one channel. The client's mutex guards it.
type subscription struct {
	store         *Store
	channel, key  string
	tickets       map[*ticket]struct{}
	count         store.Heard   // the zero Heard until it stands
	ready         chan struct{} // closed when it stands
	tries, idlers uint64        // which attempt, and which lingering, is the last
}

// ticket implements [store.Ticket].
type ticket struct {
	sub *subscription
	c   chan struct{}
}

// Listen implements [store.Store].
func (s *Store) Listen(channel, key string) store.Ticket {
	s.mu.Lock()
	defer s.mu.Unlock()
	sub := s.subs[channel]
	if sub == nil {
		sub = &subscription{
			store: s, channel: channel, tickets: make(map[*ticket]struct{}), ready: make(chan struct{}),
		}
		s.subs[channel] = sub
		sub.askLocked()
	}
	if key != "" {
		sub.key = key
	}
	t := &ticket{sub, make(chan struct{}, 1)}
	sub.tickets[t] = struct{}{}
	return t
}

// Heard implements [store.Store].
func (s *Store) Heard(channel string) store.Heard {
	s.mu.Lock()
	defer s.mu.Unlock()
	if sub := s.subs[channel]; sub != nil {
		return sub.count
	}
	return store.Heard{}
}

// Others implements [store.Store].
func (s *Store) Others(channel string, receivers int64) int {
	if s.Heard(channel) != (store.Heard{}) {
		receivers--
	}
	return int(max(receivers, 0))
}

// Break ends the client's subscriptions, as a connection does that breaks: what is told until they stand again is not
// heard, and nothing that was under way.
func (s *Store) Break() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sub := range s.subs {
		s.server.drop(sub)
		if sub.count != (store.Heard{}) {
			sub.count, sub.ready = store.Heard{}, make(chan struct{})
		}
		sub.askLocked()
	}
}

func (s *Store) unsubscribeAll() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for _, sub := range s.subs {
		s.server.drop(sub)
		sub.tries++
	}
	s.subs = make(map[string]*subscription)
}

// askLocked subscribes. From when the server reads it, messages are on their way; the client counts on them from its
// answer on.
func (sub *subscription) askLocked() {
	s := sub.store
	sub.tries++
	try, fate := sub.tries, s.server.network.Fate(s.request(Subscribe, sub.channel))
	s.server.lateOf(s, fate.Before, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.subs[sub.channel] == sub && sub.tries == try && !fate.Lost && !fate.Refuse {
			s.server.listen(sub, try)
		}
	})
	s.server.lateOf(s, fate.Before+fate.After, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		switch {
		case s.subs[sub.channel] != sub || sub.tries != try:
		case fate.Lost, fate.Refuse, fate.Mute:
			s.server.drop(sub)
			s.late.after(again, func() { s.retry(sub, try) })
		default:
			s.server.listen(sub, try) // which of the two timers is first is not said if they are due at once
			s.made++
			sub.count = store.Heard{Subscription: s.made}
			sub.wakeLocked()
			close(sub.ready)
		}
	})
}

func (s *Store) retry(sub *subscription, try uint64) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.subs[sub.channel] == sub && sub.tries == try {
		sub.askLocked()
	}
}

func (sub *subscription) wakeLocked() {
	for t := range sub.tickets {
		select {
		case t.c <- struct{}{}:
		default:
		}
	}
}

// hear takes a message in. A waiter that is woken finds it counted.
func (sub *subscription) hear(try uint64) {
	if key := sub.wake(try); key != "" {
		sub.store.host.Heard(key)
	}
}

// wake returns the key that the subscription is for, if it stands as of an attempt.
func (sub *subscription) wake(try uint64) (key string) {
	s := sub.store
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.subs[sub.channel] != sub || sub.tries != try || sub.count == (store.Heard{}) {
		return ""
	}
	sub.count.Messages++
	sub.wakeLocked()
	return sub.key
}

// C implements [store.Ticket].
func (t *ticket) C() <-chan struct{} { return t.c }

// Ready implements [store.Ticket].
func (t *ticket) Ready() <-chan struct{} {
	t.sub.store.mu.Lock()
	defer t.sub.store.mu.Unlock()
	return t.sub.ready
}

// Heard implements [store.Ticket].
func (t *ticket) Heard() store.Heard {
	t.sub.store.mu.Lock()
	defer t.sub.store.mu.Unlock()
	return t.sub.count
}

// Leave implements [store.Ticket]. The last one's subscription lingers.
func (t *ticket) Leave() {
	sub, s := t.sub, t.sub.store
	s.mu.Lock()
	defer s.mu.Unlock()
	delete(sub.tickets, t)
	if len(sub.tickets) > 0 {
		return
	}
	sub.idlers++
	idler := sub.idlers
	s.late.after(linger, func() {
		s.mu.Lock()
		defer s.mu.Unlock()
		if s.subs[sub.channel] == sub && len(sub.tickets) == 0 && sub.idlers == idler {
			delete(s.subs, sub.channel)
			s.server.drop(sub)
		}
	})
}
