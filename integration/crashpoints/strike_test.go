package crashpoints_test

import (
	"errors"
	"io"
	"os"
	"syscall"
	"time"

	"github.com/holdfast-go/holdfast/internal/crash"
	"github.com/holdfast-go/holdfast/internal/request"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/internal/testkit/stamp"
)

// strike is called at every point. It does nothing, except at one passing of one of them.
func (s *subject) strike(p crash.Point) error {
	s.tell(report{Kind: passed, Point: p})
	if s.before != nil {
		if err := s.before(p); err != nil {
			return err
		}
	}
	s.mu.Lock()
	mine := false
	if !s.exempt {
		s.counts[p]++
		mine = p == s.Point && s.counts[p] == s.Passing
	}
	s.mu.Unlock()
	if !mine {
		return nil
	}
	s.tell(report{Kind: fired, Point: p})
	defer close(s.struck)
	return s.fall(p)
}

// fall is the action itself, or this process's part in it.
func (s *subject) fall(p crash.Point) error {
	send, reply := isExchange(p)
	switch s.Action {
	case fail:
		switch {
		case send:
			return &store.Failure{Fault: store.FaultTransient, Answered: true, Err: errors.New("struck before it was sent")}
		case reply:
			return os.ErrDeadlineExceeded
		}
		return errors.New("struck") // will be ignored
	case drop:
		if send {
			return os.ErrDeadlineExceeded
		}
		return io.EOF
	case delay:
		time.Sleep(2 * request.CommandLimit(s.Lease))
	case longDelay:
		time.Sleep(2 * s.Lease)
	case cancel:
		s.cancel()
	case kill:
		_ = syscall.Kill(os.Getpid(), syscall.SIGKILL)
		select {}
	case stop:
		// The signal may reach another thread, a little later.
		for start := stamp.Now(); stamp.Now()-start < s.Lease; time.Sleep(10 * time.Millisecond) {
			if stamp.Now()-start < s.Lease/2 {
				_ = syscall.Kill(os.Getpid(), syscall.SIGSTOP)
			}
		}
		s.tell(report{Kind: resumed})
	default: // actions on the server are the parent's part
		s.await(s.going)
	}
	return nil
}

// passings is how often a point was passed.
func (s *subject) passings(p crash.Point) int {
	s.mu.Lock()
	defer s.mu.Unlock()
	return s.counts[p]
}
