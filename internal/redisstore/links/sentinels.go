package links

import (
	"context"
	"errors"
	"net"
	"sync"
	"time"

	"golang.org/x/sync/singleflight"
)

// sentinels are asked for the primary through the dialer that go-redis made, since a client of NewFailoverClient does
// not say where they are and how to log in. One question at a time is under way, and it outlives its callers, because
// go-redis leaves a Sentinel that hangs only after its own time limits. Two at a time would disturb one another: a
// caller that waits for the other's answer until its context has ended closes the connection to the Sentinel that gave
// it.
//
// A balancer forgets connections to Sentinels like all others. So a Sentinel that has answered before and is silent now
// is left in the middle of a question, which is then asked once more, by new connections.
//
// The connections to Sentinels are go-redis's, inside the application's client, and nobody here can close one that is
// being made. So the end of a question does not wait for go-redis: see interruptible.
type sentinels struct {
	ask   dial                             // asks one, and dials the server that it names
	named func(addr string, conn net.Conn) // is told whom they named; no conn: it could not be dialled
	limit time.Duration                    // of a question if no Sentinel is known
	hang  time.Duration                    // after which go-redis gives up one attempt to hear from a Sentinel

	one singleflight.Group // the question that is under way

	// Only the question uses these.
	patience time.Duration // of the next one
	known    bool          // a Sentinel has answered the last one, so go-redis asks it by a connection that it has

	joined joined // the question
}

var errSlow = errors.New("the Sentinel does not answer in time")

func newSentinels(ask dial, limit, hang time.Duration, named func(addr string, conn net.Conn)) *sentinels {
	s := &sentinels{ask: ask, named: named, limit: limit, hang: hang, patience: limit}
	s.joined.init()
	return s
}

// inquire asks, unless a question is under way. The question outlives its callers; end waits for it. Whom the Sentinel
// named is told before callers hear of it.
func (s *sentinels) inquire() <-chan singleflight.Result {
	return s.one.DoChan("", func() (any, error) {
		if !s.joined.begin() {
			return nil, net.ErrClosed
		}
		defer s.joined.running.Done()
		began := time.Now()
		conn, err := s.question()
		s.learn(time.Since(began), err)
		switch failed := dialled(err); {
		case err == nil:
			s.named(peerOf(conn), conn)
		case failed != nil && failed.Addr != nil && !late(err):
			s.named(Address(failed.Addr.String()), nil)
		}
		return nil, err
	})
}

// question asks. If go-redis waits for a Sentinel by a connection that it has, and there is no answer for as long as
// any server may be silent, or in half of the time that a question may take by a new one, go-redis is told to leave
// that Sentinel, and asked once more.
func (s *sentinels) question() (net.Conn, error) {
	if !s.known {
		return s.call(s.patience, nil)
	}
	answered := make(chan struct{})
	var conn net.Conn // written, as err, before answered is closed
	var err error
	var first sync.WaitGroup
	first.Go(func() {
		defer close(answered)
		conn, err = s.call(s.patience, nil)
	})
	half := time.NewTimer(min(s.limit/2, silence))
	defer half.Stop()
	select {
	case <-answered:
		return conn, err
	case <-half.C:
	}
	s.leave(answered)
	if first.Wait(); err != nil {
		return s.call(s.limit, nil)
	}
	return conn, nil
}

// leave has go-redis close its connections to the Sentinel that it asks, unless the question has been answered. A
// question that waits for one of these ends then.
//
// It has no use when nobody is known. Then go-redis asks all Sentinels, lets nobody else ask until it has an answer,
// and would be told to leave the Sentinel that gave it.
func (s *sentinels) leave(answered <-chan struct{}) {
	s.known = false
	if conn, err := s.call(0, answered); err == nil {
		_ = conn.Close()
	}
}

// call has go-redis ask a Sentinel within a time, and waits until it returns, or until end. It may wait for longer: it
// reads without regard to the context, from connections that nobody else knows.
func (s *sentinels) call(within time.Duration, answered <-chan struct{}) (net.Conn, error) {
	if s.joined.ctx.Err() != nil {
		return nil, net.ErrClosed
	}
	return interruptible(s.joined.ctx.Done(), func(ctx context.Context, network, addr string) (net.Conn, error) {
		ctx, cancel := context.WithTimeout(ctx, within)
		defer cancel()
		return s.ask(impatient{ctx, answered}, network, addr)
	})(context.Background(), "tcp", sentinelAddr)
}

// dialled is the error of dialling the server that a Sentinel named; nil: err is another one. That of dialling a
// Sentinel is wrapped.
func dialled(err error) *net.OpError {
	failed, _ := err.(*net.OpError)
	return failed
}

// late reports that the server which a Sentinel named did not answer a dial in time.
func late(err error) bool {
	failed := dialled(err)
	return failed != nil && (failed.Timeout() || errors.Is(failed, errSlow))
}

// learn decides how long the next question may take.
//
// A Sentinel that is known answers as soon as before, and so does the server that it names. If that server cannot be
// dialled, the same question must be asked again soon, because it will be replaced. In all other cases go-redis asks
// anew, over new connections.
func (s *sentinels) learn(took time.Duration, err error) {
	if dialled(err) != nil {
		s.known = true
		return
	}
	s.known, s.patience = err == nil, s.limit
	if s.known {
		s.patience = min(max(4*took, question), s.limit)
	}
}

// end ends the question, and waits for it. See interruptible for what go-redis may still wait for.
func (s *sentinels) end() {
	s.joined.end()
	s.joined.running.Wait()
}

// impatient is a context whose end go-redis takes for a failure of the Sentinel that it waits for.
//
// At the end of an ordinary context it returns, and stays with that Sentinel for ever, if all who ask it are in more
// of a hurry than it is with its own time limits. After another error it closes that connection, and asks all
// Sentinels at once with the next question.
type impatient struct {
	context.Context
	answered <-chan struct{} // closed when the Sentinel did not fail, after all; nil: it never is
}

// Err implements [context.Context].
func (i impatient) Err() error {
	err := i.Context.Err()
	select {
	case <-i.answered:
		return err
	default:
	}
	if err != nil {
		return errSlow
	}
	return nil
}
