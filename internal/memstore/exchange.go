package memstore

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-go/holdfast/internal/store"
)

var (
	errSilent  = errors.New("memstore: no answer in time")
	errBroken  = errors.New("memstore: the connection broke")
	errClosed  = &store.Failure{Fault: store.FaultDefinite, Err: errors.New("memstore: the client is closed")}
	errRefused = &store.Failure{Fault: store.FaultTransient, Err: errors.New("memstore: the server refuses it now")}
)

// exchange sends one request, which the server carries out by do, under its mutex. It is carried out though nobody
// waits for it any more, and a copy though the answer is there: only its not-after keeps it from doing anything then.
func exchange[R any](ctx context.Context, s *Store, kind Kind, key string, do func() (R, error)) (R, error) {
	var none R
	if ctx.Err() != nil {
		return none, store.ErrUnsent
	}
	limit := maxLimit
	if at, ok := ctx.Deadline(); ok {
		if limit = time.Until(at); limit <= 0 {
			return none, store.ErrLate
		}
	}
	select {
	case <-s.hung:
		return none, errClosed
	default:
	}
	fate := s.server.network.Fate(s.request(kind, key))
	if fate.Again > 0 && !fate.Lost && !fate.Refuse {
		s.server.late.after(fate.Before+fate.Again, func() { s.server.carry(func() { _, _ = do() }) })
	}
	var out outcome[R]
	if fate == (Fate{Again: fate.Again}) && s.server.carryNow(func() { out.reply, out.err = do() }) {
		return out.reply, out.err
	}
	f := newFlight[R](s, fate, limit)
	f.send(do)
	return f.wait(ctx)
}

// maxLimit bounds a request whose context has no deadline.
const maxLimit = time.Minute

// flight is a request that takes time.
type flight[R any] struct {
	store *Store
	fate  Fate
	limit time.Duration
	done  chan outcome[R] // takes one
}

type outcome[R any] struct {
	reply R
	err   error
}

func newFlight[R any](s *Store, fate Fate, limit time.Duration) *flight[R] {
	return &flight[R]{s, fate, limit, make(chan outcome[R], 1)}
}

// send has the server read the request, and then answer it.
func (f *flight[R]) send(do func() (R, error)) {
	if f.fate.Lost {
		f.answer(f.fate.Before+f.fate.After, outcome[R]{err: errBroken})
		return
	}
	read := func() {
		var out outcome[R]
		after := f.fate.After
		switch {
		case f.fate.Refuse:
			out.err = errRefused
		default:
			server := f.store.server
			server.commit = f.fate.Commit
			if out.reply, out.err = do(); server.commit == 0 { // it took something
				after += f.fate.Commit
			}
			server.commit = 0
		}
		if f.fate.Mute {
			out = outcome[R]{err: errBroken}
		}
		f.answer(after, out)
	}
	f.store.server.late.after(f.fate.Before, func() { f.store.server.carry(read) })
}

func (f *flight[R]) answer(d time.Duration, out outcome[R]) {
	if d == 0 {
		f.done <- out
		return
	}
	f.store.server.late.after(d, func() { f.done <- out })
}

// wait returns the answer, or that there was none in time. Where the store is direct it leaves when ctx ends.
func (f *flight[R]) wait(ctx context.Context) (R, error) {
	var none R
	var over, ended <-chan struct{}
	if f.store.direct && ctx.Done() != nil {
		over, ended = ctx.Done(), f.store.ended
	}
	timer := time.NewTimer(f.limit)
	defer timer.Stop()
	select {
	case out := <-f.done:
		return out.reply, out.err
	case <-timer.C:
		return none, errSilent
	case <-f.store.hung:
		return none, errBroken
	case <-over:
	case <-ended:
	}
	return none, f.left(time.Now().Add(f.limit))
}

// left is settled when the answer has come, at the time limit, or when the connection ends.
func (f *flight[R]) left(at time.Time) *store.Left {
	settled := make(chan struct{})
	var outcome error // written before settled is closed
	f.store.own.Go(func() {
		defer close(settled)
		timer := time.NewTimer(time.Until(at))
		defer timer.Stop()
		select {
		case out := <-f.done:
			outcome = out.err
			if late, ok := any(out.reply).(interface{ Late() bool }); ok && out.err == nil && late.Late() {
				outcome = store.ErrUnsent
			}
		case <-timer.C:
			outcome = errSilent
		case <-f.store.hung:
			outcome = errBroken
		}
	})
	return &store.Left{Settled: settled, Outcome: func() error { return outcome }}
}
