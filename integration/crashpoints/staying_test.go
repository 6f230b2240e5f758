package crashpoints_test

import (
	"context"
	"time"

	"github.com/holdfast-go/holdfast/internal/testkit/stamp"
	"github.com/holdfast-go/holdfast/lock"
)

// staying is a stay in progress.
type staying struct {
	stay
	tell   func(stay)
	lock   *lock.Lock
	held   context.Context
	unlock func() error
	end    chan struct{} // closed by leave
	ended  chan struct{} // closed when nobody checks any more
}

// begin records the first certain moment, and from then on the last one. It returns nil if the hold has ended
// already. Held decides whether the hold is live: a process that was stopped cannot be told anything, and has to ask.
func (st *staying) begin() *staying {
	from := stamp.Now()
	hold, err := st.lock.Held(st.held)
	if err != nil {
		return nil
	}
	st.From, st.To, st.Fence = from, from, hold.Fence
	st.end, st.ended = make(chan struct{}), make(chan struct{})
	st.tell(st.stay)
	go st.watch()
	return st
}

func (st *staying) watch() {
	defer close(st.ended)
	ticker := time.NewTicker(time.Millisecond)
	defer ticker.Stop()
	told := st.To
	for st.look() {
		if st.To-told > 10*time.Millisecond { // this process may be killed at any time
			told = st.To
			st.tell(st.stay)
		}
		select {
		case <-st.end:
			st.look()
			st.tell(st.stay)
			return
		case <-ticker.C:
		}
	}
	st.tell(st.stay)
}

// look takes the time before it asks: if the answer is yes, that moment was inside.
func (st *staying) look() bool {
	at := stamp.Now()
	if _, err := st.lock.Held(st.held); err != nil {
		return false
	}
	st.To = at
	return true
}

// leave ends the stay: from here on the hold does not count as live.
func (st *staying) leave() {
	close(st.end)
	<-st.ended
}

// enter locks and begins a stay.
func (s *subject) enter(name, want string, ctx context.Context, l *lock.Lock) *staying {
	st := &staying{lock: l}
	err := s.call(name, want, func() (err error) {
		st.held, st.unlock, err = l.Lock(ctx)
		return err
	})
	if err != nil {
		return nil
	}
	return s.begin(st)
}

func (s *subject) begin(st *staying) *staying {
	s.mu.Lock()
	s.ids++
	st.Who, st.ID = "subject", s.ids
	s.mu.Unlock()
	st.tell = func(state stay) { s.tell(report{Kind: stayed, Stay: &state}) }
	if st.begin() == nil { // over before it was used
		_ = s.call("unlock of what is over", "nil", st.unlock)
		return nil
	}
	return st
}

// exit ends a stay and unlocks.
func (s *subject) exit(name, want string, st *staying) {
	st.leave()
	_ = s.call(name, want, st.unlock)
}

// work is what the holder does: it stays a moment, or so long that it spans a restart of the server.
func (s *subject) work(st *staying) {
	span := 20 * time.Millisecond
	if s.Action == empty || s.Action == restart {
		span = 600 * time.Millisecond
	}
	s.workFor(st, span)
}

// workFor ends when the hold is lost, but not at the end of the context that was given to Lock.
func (s *subject) workFor(st *staying, span time.Duration) {
	select {
	case <-st.ended:
	case <-time.After(span):
	}
}
