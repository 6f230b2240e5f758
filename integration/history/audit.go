package history

import (
	"errors"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"
)

// settle bounds how long the remains of a run may take to go, once nothing keeps them.
const settle = 15 * time.Second

// paused waits until no client is in a call. A client that does not pause is stuck.
func (r *run) paused(limit time.Duration) error {
	for _, s := range r.seats {
		line, err := s.current().hear(limit)
		if err != nil {
			return err
		}
		f := parse(line)
		word, heap := f.word(), f.number()
		if word != linePaused || f.err != nil {
			return fmt.Errorf("%s said %q instead of %q", s.current().name, line, linePaused)
		}
		r.report.Heap = max(r.report.Heap, heap)
	}
	return nil
}

// emptied waits until nothing is left of holds: one that nobody released ends with its lease.
func (r *run) emptied() error {
	left, err := r.gone(r.cfg.Lease+settle, r.ground.held)
	r.report.Held = len(left)
	return within(err, "holds", left)
}

// audit closes the clients and checks that nothing is left of them, in themselves and in the store.
func (r *run) audit() error {
	if err := r.sayAll(sayClose); err != nil {
		return err
	}
	for _, s := range r.seats {
		p := s.current()
		line, err := p.hear(settle)
		if err != nil {
			return err
		}
		f := parse(line)
		if word, n := f.word(), int(f.number()); word != lineLeft || n != 0 || f.err != nil {
			r.report.Goroutines += n
			return fmt.Errorf("goroutines of %s: %s", p.name, line)
		}
		if err := p.Ended(settle); err != nil {
			return fmt.Errorf("%s: %w", p.name, err)
		}
	}
	if err := r.emptied(); err != nil {
		return err
	}
	left, err := r.gone(settle, r.ground.listened)
	if err := within(err, "subscriptions", left); err != nil {
		return err
	}
	left, err = r.gone(settle, r.ground.connections)
	return within(err, "connections", left)
}

// gone polls until nothing is listed any more, and returns what is still listed at the end of the
// limit.
func (r *run) gone(limit time.Duration, list func() ([]string, error)) (left []string, err error) {
	for end := time.Now().Add(limit); ; time.Sleep(10 * time.Millisecond) {
		left, err = list()
		if err != nil || len(left) == 0 || time.Now().After(end) {
			return left, err
		}
	}
}

func within(err error, what string, left []string) error {
	if err == nil && len(left) > 0 {
		err = fmt.Errorf("%d %s are left: %s", len(left), what, strings.Join(left[:min(len(left), 10)], "\n"))
	}
	return err
}

// fail records that a fault could not be injected, which fails the run.
func (r *run) fail(err error) {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.err = errors.Join(r.err, err)
}

func (r *run) failure() error {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.err
}

// lenient is the test to which the server and the proxies belong. A late request is not delivered if
// another fault cuts its connection, as on a network: it is counted.
type lenient struct {
	testing.TB
	undelivered atomic.Int64
}

// Errorf implements testing.TB.
func (l *lenient) Errorf(format string, args ...any) {
	l.Helper()
	if strings.Contains(format, "late request could not be delivered") {
		l.undelivered.Add(1)
		return
	}
	l.TB.Errorf(format, args...)
}
