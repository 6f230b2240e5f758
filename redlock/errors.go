package redlock

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/lua"
	"github.com/holdfast-go/holdfast/rlock"
)

// Why a node has no vote. Both are wrapped in a *NodeError, and that in what a call returns that came to no
// quorum.
var (
	// ErrRestarted means that the server was started too short a time ago: it may have forgotten locks that
	// it granted before.
	ErrRestarted = errors.New("redlock: the server was restarted, and has no vote until the guard time has passed")

	// ErrNotIndependent means that the server is no primary that stands for itself: a replica, a member of a
	// cluster, a Sentinel, or the same server as another node.
	ErrNotIndependent = errors.New("redlock: the server is not an independent primary")
)

// NodeError is what is wrong with one node.
type NodeError struct {
	Addr string
	Err  error
}

// Error implements error.
func (e *NodeError) Error() string { return e.Addr + ": " + e.Err.Error() }

// Unwrap returns Err.
func (e *NodeError) Unwrap() error { return e.Err }

var (
	errSilent = errors.New("no answer yet; it is sent nothing more until it answers")
	errNever  = errors.New("no answer in time")
	errClosed = errors.New("the client is closed")
	errLate   = errors.New("its clock changes faster than it can be followed")
	errDoubt  = errors.New("it may still carry out a request that it did not answer")
)

// silent are the nodes that were asked something and did not answer yet.
type silent map[*node]struct{}

func (c *Client) silent() silent {
	s := make(silent, len(c.nodes))
	for _, n := range c.nodes {
		s[n] = struct{}{}
	}
	return s
}

// blame notes why these nodes failed a call that waits no longer.
func (s silent) blame(failed map[*node]error) {
	for n := range s {
		failed[n] = errNever
	}
}

// quorumError tells that too few nodes said yes, and what was wrong with the others. Nothing of the
// attempt is left that this package does not take back by itself.
type quorumError struct {
	yes, need, nodes int
	why              []error // *NodeError
}

func (e *quorumError) Error() string {
	s := fmt.Sprintf("no quorum: %d of %d nodes agreed, and %d are needed", e.yes, e.nodes, e.need)
	parts := make([]string, 0, len(e.why))
	for _, err := range e.why {
		parts = append(parts, err.Error())
	}
	if len(parts) > 0 {
		s += " (" + strings.Join(parts, "; ") + ")"
	}
	return s
}

func (e *quorumError) Unwrap() []error { return e.why }

// noQuorum makes the error of a call. A conflict or a wrong set-up counts only where it alone makes a
// quorum impossible; what a minority of the nodes has is in the text.
func (c *Client) noQuorum(yes int, failed map[*node]error) error {
	e := &quorumError{yes: yes, need: c.quorum, nodes: len(c.nodes)}
	conflicts, hopeless := 0, 0
	for _, err := range failed {
		if errors.Is(err, lua.ErrConflict) {
			conflicts++
		}
		if isHopeless(err) {
			hopeless++
		}
	}
	spare := len(c.nodes) - c.quorum
	for _, n := range c.nodes {
		err := failed[n]
		if err == nil {
			continue
		}
		if conflicts <= spare || !errors.Is(err, lua.ErrConflict) {
			err = plainly(err)
		}
		e.why = append(e.why, &NodeError{Addr: n.addr, Err: err})
	}
	switch {
	case conflicts > spare:
		return &conflictError{e}
	case hopeless > spare:
		return &store.Refused{Err: fmt.Errorf("%w: %w", rlock.ErrUnavailable, e)}
	}
	return &store.SettledError{Err: e}
}

// isHopeless tells errors that no repetition mends.
func isHopeless(err error) bool {
	return errors.Is(err, ErrNotIndependent) || redis.IsPermissionError(err) || redis.IsAuthError(err)
}

// conflictError is a quorumError that matches lua.ErrConflict and is not to be tried again.
type conflictError struct{ *quorumError }

func (e *conflictError) Is(target error) bool { return target == lua.ErrConflict }

// plainly keeps out of errors.Is what would be taken for a fact about the call and is one about a node.
func plainly(err error) error {
	for _, hidden := range []error{
		lua.ErrConflict, redis.ErrClosed, context.DeadlineExceeded, context.Canceled,
	} {
		if errors.Is(err, hidden) {
			return errors.New(err.Error())
		}
	}
	return err
}

// answered reports that the server itself answered, with an error or not.
func answered(err error) bool {
	var reply redis.Error
	return err == nil || errors.As(err, &reply) || errors.Is(err, lua.ErrConflict)
}

// unsent reports that a request that ended with err was not written to the server.
func unsent(err error) bool {
	var op *net.OpError
	var refused *refusal
	var never *unsentError
	return errors.As(err, &op) && op.Op == "dial" || errors.As(err, &refused) || errors.As(err, &never) ||
		errors.Is(err, errSilent) || errors.Is(err, errClosed) || errors.Is(err, redis.ErrPoolTimeout) ||
		errors.Is(err, redis.ErrClosed)
}
