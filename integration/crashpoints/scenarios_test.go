package crashpoints_test

import (
	"context"
	"errors"
	"io"
	"sync"
	"sync/atomic"
	"time"

	"github.com/holdfast-go/holdfast/internal/crash"
	"github.com/holdfast-go/holdfast/internal/testkit/stamp"
	"github.com/holdfast-go/holdfast/lock"
)

// play runs the scenario. A step that fails ends it: the results of the rest are known.
func (s *subject) play() {
	map[scenario]func(){
		plain: s.plain, counted: s.counted, waiting: s.plain, line: s.line, renewal: s.renewal,
		second: s.second, transfer: s.transfer, abandoned: s.abandoned, closing: s.closing,
	}[s.Scenario]()
}

func (s *subject) plain() {
	if st := s.enter("lock", "nil", s.ctx, s.lock); st != nil {
		s.work(st)
		s.exit("unlock", "nil", st)
	}
}

// counted stays in an inner level until the request was struck that reports it to the store. That request may go on
// while the levels are left.
func (s *subject) counted() {
	st := s.enter("lock", "nil", s.ctx, s.lock)
	if st == nil {
		return
	}
	var leave func() error
	err := s.call("reenter", "nil", func() (err error) {
		_, leave, err = s.lock.Lock(st.held)
		return err
	})
	if err == nil {
		for end := stamp.Now() + slack; stamp.Now() < end && s.passings(s.Point) == 0; {
			time.Sleep(time.Millisecond)
		}
		s.checked()
		_ = s.call("leave", "nil", leave)
	}
	s.work(st)
	s.exit("unlock", "nil", st)
}

// checked waits until the parent has checked where an action of its own happens.
func (s *subject) checked() {
	switch s.Action {
	case empty, restart, deafen, forget:
		s.await(s.going)
	}
}

// line makes two calls wait behind a hold of the same client.
func (s *subject) line() {
	st := s.enter("lock", "nil", s.ctx, s.lock)
	if st == nil {
		return
	}
	waiters, standing := s.waiters(2, "nil")
	standing()
	if s.Point == crash.Enqueue { // then the hold is the one that is to be there
		s.checked()
	}
	s.work(st)
	s.exit("unlock", "nil", st)
	waiters.Wait()
}

// waiters starts calls that queue; standing waits until all of them do, or are done.
func (s *subject) waiters(n int, want string) (waiters *sync.WaitGroup, standing func()) {
	waiters = new(sync.WaitGroup)
	stood := s.passings(crash.Enqueue)
	left := make(chan struct{}, n)
	for range n {
		waiters.Go(func() {
			defer func() { left <- struct{}{} }()
			if st := s.enter("lock in line", want, s.ctx, s.lock); st != nil {
				s.work(st)
				s.exit("unlock in line", "nil", st)
			}
		})
	}
	return waiters, func() {
		for end := stamp.Now() + slack; stamp.Now() < end; time.Sleep(time.Millisecond) {
			if s.passings(crash.Enqueue)-stood+len(left) >= n {
				return
			}
		}
	}
}

// renewal holds until a renewal was struck and two more had time to follow. On a busy machine a short hold may end
// before its renewal comes to the point. Then the subject locks again.
func (s *subject) renewal() {
	for end := stamp.Now() + patience/4; s.passings(s.Point) == 0 && stamp.Now() < end; {
		st := s.enter("lock", "nil", s.ctx, s.lock)
		if st == nil {
			return
		}
		select {
		case <-s.struck:
		case <-st.ended:
		case <-time.After(patience / 4):
		}
		if s.passings(s.Point) > 0 {
			s.await(s.struck) // the strike may go on after it has ended the hold
			s.workFor(st, s.Lease*2/3+s.Lease/10)
		}
		s.exit("unlock", "nil", st)
	}
}

// second is not the first request: that has no not-after, for the server's clock is not known yet.
func (s *subject) second() {
	s.contact(s.client)
	s.plain()
}

// contact has a client learn the server's clock. Its first contact may take longer than one request may, on a busy
// machine, and is not what is struck: however many requests it takes, the points that they pass do not count.
func (s *subject) contact(of client) {
	s.setExempt(true)
	defer s.setExempt(false)
	err := s.try(of)
	for end := stamp.Now() + patience/4; err != nil && stamp.Now() < end; {
		err = s.try(of)
	}
	if err != nil {
		s.tell(report{Kind: "nonsense", Text: "no contact: " + err.Error()})
	}
}

func (s *subject) setExempt(exempt bool) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.exempt = exempt
}

// try tries the lock, which the rival may have.
func (s *subject) try(of client) error {
	_, unlock, err := of.Lock(lockName).TryLock(s.ctx)
	switch {
	case errors.Is(err, lock.ErrBusy):
		return nil
	case err != nil:
		return err
	}
	return unlock()
}

// transfer takes the hold to another client of this process.
func (s *subject) transfer() {
	other := s.newClient()
	defer func() { _ = s.call("close", "nil", other.Close) }()
	s.contact(other)
	st := s.enter("lock", "nil", s.ctx, s.lock)
	if st == nil {
		return
	}
	var token string
	st.leave()
	err := s.call("export", "nil", func() (err error) {
		token, err = s.lock.Export(st.held)
		return err
	})
	if err != nil {
		_ = s.call("unlock", "nil", st.unlock)
		return
	}
	moved := &staying{stay: stay{Moved: true}, lock: other.Lock(lockName)}
	err = s.call("import", "nil", func() (err error) {
		moved.held, moved.unlock, err = moved.lock.Import(s.ctx, token)
		return err
	})
	if err != nil {
		return
	}
	if moved = s.begin(moved); moved != nil {
		s.work(moved)
		s.exit("unlock", "nil", moved)
	}
}

// abandoned ends its context when the store has granted the lock, and never receives the grant, so the hold has to
// be disowned.
func (s *subject) abandoned() {
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	var granted atomic.Bool
	s.before = func(p crash.Point) error {
		if p == crash.Acquire.Reply && !granted.Swap(true) {
			cancel()
			return io.EOF
		}
		return nil
	}
	st := s.enter("lock abandoned", "canceled", ctx, s.lock)
	if st != nil {
		s.exit("unlock", "nil", st)
		return
	}
	s.await(s.struck)
	s.plain()
}

// closing closes the client while one call holds and another waits. The holder goes on until Close ends its
// hold.
func (s *subject) closing() {
	st := s.enter("lock", "nil", s.ctx, s.lock)
	if st == nil {
		return
	}
	waiters, standing := s.waiters(1, "closed")
	standing()
	_ = s.call("close with a hold", "held", s.client.Close)
	s.exit("unlock", "closed", st)
	waiters.Wait()
}
