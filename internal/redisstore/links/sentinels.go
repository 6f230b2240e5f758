package links

import (
	"context"
	"errors"
	"net"
	"time"

	"golang.org/x/sync/singleflight"
)

// sentinels are asked for the primary through the dialer that go-redis made, since a client of NewFailoverClient does
// not say where they are and how to log in. One question at a time is under way, and it outlives its callers, because
// go-redis leaves a Sentinel that hangs only after its own time limits. Two at a time would disturb one another: a
// caller that waits for the other's answer until its context has ended closes the connection to the Sentinel that gave
// it.
type sentinels struct {
	ask   dial          // asks one, and dials the server that it names
	limit time.Duration // of a question if no Sentinel is known
	hang  time.Duration // after which go-redis gives up one attempt to hear from a Sentinel

	one      singleflight.Group // the question that is under way
	patience time.Duration      // of the next one; only a question uses it

	joined joined // the question
}

var errSlow = errors.New("the Sentinel does not answer in time")

func newSentinels(ask dial, limit, hang time.Duration) *sentinels {
	s := &sentinels{ask: ask, limit: limit, hang: hang, patience: limit}
	s.joined.init()
	return s
}

// inquire asks, unless a question is under way. The question outlives its callers; end waits for it. A connection to
// the server that was named is passed to named before callers hear of it.
func (s *sentinels) inquire(named func(conn net.Conn)) <-chan singleflight.Result {
	return s.one.DoChan("", func() (any, error) {
		if !s.joined.begin() {
			return nil, net.ErrClosed
		}
		defer s.joined.running.Done()
		ctx, cancel := context.WithTimeout(s.joined.ctx, s.patience)
		defer cancel()
		began := time.Now()
		conn, err := s.ask(impatient{ctx}, "tcp", sentinelAddr)
		s.learn(time.Since(began), err)
		if err == nil {
			named(conn)
		}
		return nil, err
	})
}

// learn decides how long the next question may take.
//
// A Sentinel that is known answers as soon as before, and so does the server that it names. If that server cannot be
// dialled, the same question must be asked again soon, because it will be replaced. In all other cases go-redis asks
// anew, over new connections.
func (s *sentinels) learn(took time.Duration, err error) {
	if _, dialling := err.(*net.OpError); dialling { // of a Sentinel's connection it would be wrapped
		return
	}
	s.patience = s.limit
	if err == nil {
		s.patience = min(max(4*took, question), s.limit)
	}
}

// end cancels the question, and waits for it. One to a Sentinel that hangs takes until the application's own time
// limit; only in a dialer that ignores its context it takes longer, and is left to end with that.
func (s *sentinels) end() {
	s.joined.end()
	ended := make(chan struct{})
	go func() { // ends with the question
		s.joined.running.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(s.hang + time.Second):
	}
}

// impatient is a context whose end go-redis takes for a failure of the Sentinel that it waits for.
//
// At the end of an ordinary context it returns, and stays with that Sentinel for ever, if all who ask it are in more
// of a hurry than it is with its own time limits. After another error it closes that connection, and asks all
// Sentinels at once with the next question.
type impatient struct{ context.Context }

// Err implements [context.Context].
func (i impatient) Err() error {
	if i.Context.Err() != nil {
		return errSlow
	}
	return nil
}
