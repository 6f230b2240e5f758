package redlock

import (
	"context"
	"errors"
	"fmt"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/internal/vocabulary"
)

// Why a node has no vote. Both are wrapped in a *NodeError, which the error of a call without a quorum wraps.
var (
	// ErrRestarted means that the server was started too recently: it may have forgotten locks that it granted
	// before.
	ErrRestarted = errors.New("the server was restarted and has no vote until RestartGuard has passed")

	// ErrNotIndependent means that the server is not an independent primary: it is a replica, a member of a cluster,
	// a Sentinel, or the same server as another node.
	ErrNotIndependent = errors.New("the server is not an independent primary")
)

// NodeError is the error of one node.
type NodeError struct {
	Addr string
	Err  error
}

// Error implements error.
func (e *NodeError) Error() string { return e.Addr + ": " + e.Err.Error() }

// Unwrap returns Err.
func (e *NodeError) Unwrap() error { return e.Err }

var (
	errSilent = errors.New("no answer to an earlier request yet")
	errNever  = errors.New("no answer in time")
	errClosed = errors.New("the client is closed")
	errLate   = errors.New("its clock is changing too fast")
	errDoubt  = errors.New("it may still carry out an unanswered request")
)

// storeName is what errors and logs call the nodes together.
const storeName = "the quorum of Redis servers"

var words = vocabulary.Errors(storeName)

// silent is the set of nodes that have not yet answered a request.
//
// It is guarded by the mutex of the round or the survey that owns it.
type silent map[*node]struct{}

func (c *Client) silent() silent {
	s := make(silent, len(c.nodes))
	for _, n := range c.nodes {
		s[n] = struct{}{}
	}
	return s
}

// blame records why these nodes failed a call that no longer waits.
func (s silent) blame(failed map[*node]error) {
	for n := range s {
		failed[n] = errNever
	}
}

// quorumError says that too few nodes agreed, and why the others did not. This package itself takes back whatever the
// attempt left behind.
type quorumError struct {
	yes, need, nodes int
	busy             int     // nodes that answered that another has it
	why              []error // *NodeError
}

func (e *quorumError) Error() string {
	s := fmt.Sprintf("no quorum: %d of %d nodes agreed, need %d", e.yes, e.nodes, e.need)
	parts := make([]string, 0, len(e.why)+2)
	for _, err := range e.why {
		parts = append(parts, err.Error())
	}
	if e.busy > 0 {
		parts = append(parts, fmt.Sprintf("%d hold it for another", e.busy))
	}
	if rest := e.nodes - e.yes - len(e.why) - e.busy; rest > 0 && len(parts) > 0 {
		parts = append(parts, fmt.Sprintf("%d had not answered when these had decided it", rest))
	}
	if len(parts) > 0 {
		s += " (" + strings.Join(parts, "; ") + ")"
	}
	return s
}

func (e *quorumError) Unwrap() []error { return e.why }

// noQuorum makes the error of a call. A conflict or a wrong set-up decides only if it alone makes a quorum
// impossible; if a minority of the nodes has it, only the text mentions it. Busy is how many nodes answered that
// another has the lock.
func (c *Client) noQuorum(yes, busy int, failed map[*node]error) error {
	e := &quorumError{yes: yes, need: c.quorum, nodes: len(c.nodes), busy: busy}
	conflicts, denied, hopeless := 0, 0, 0
	for _, err := range failed {
		if errors.Is(err, luacall.ErrConflict) {
			conflicts++
		}
		if isDenied(err) {
			denied++
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
		if conflicts <= spare || !errors.Is(err, luacall.ErrConflict) {
			err = plainly(err)
		}
		e.why = append(e.why, &NodeError{Addr: n.addr, Err: err})
	}
	switch {
	case conflicts > spare:
		return &conflictError{e}
	case hopeless > spare:
		said := &store.Failure{Fault: store.FaultDefinite, Denied: denied > spare, Err: e}
		word, _ := words.Unanswered(said)
		said.Err = fmt.Errorf("%w: %w", word, e)
		return &store.Refused{Err: said}
	}
	return &store.SettledError{Err: e}
}

// isHopeless reports whether retrying cannot help.
func isHopeless(err error) bool { return errors.Is(err, ErrNotIndependent) || isDenied(err) }

// isDenied reports that the node refuses this client.
func isDenied(err error) bool { return redis.IsPermissionError(err) || redis.IsAuthError(err) }

// conflictError is a quorumError that matches luacall.ErrConflict and must not be retried.
type conflictError struct{ *quorumError }

func (e *conflictError) Is(target error) bool { return target == luacall.ErrConflict }

// plainly hides from errors.Is the errors that are facts about one node but would look like facts about the call.
//
// An example: one node of five timed out, and the call failed for lack of a quorum. If its error matched
// context.DeadlineExceeded, the caller would conclude that its own context had ended.
func plainly(err error) error {
	for _, hidden := range []error{
		luacall.ErrConflict, redis.ErrClosed, context.DeadlineExceeded, context.Canceled,
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
	return err == nil || errors.As(err, &reply) || errors.Is(err, luacall.ErrConflict)
}

// unsent reports that a request that ended with err was not written to the server.
//
// It must be true only if that is certain: a request that may have been written leaves a doubt at its node, and
// a release that waits until the doubt is over. A wrong "unsent" would leave a grant behind for a whole lease.
func unsent(err error) bool {
	var op *net.OpError
	var refused *refusal
	var never *unsentError
	return errors.As(err, &op) && op.Op == "dial" || errors.As(err, &refused) || errors.As(err, &never) ||
		errors.Is(err, errSilent) || errors.Is(err, errClosed) || errors.Is(err, redis.ErrPoolTimeout) ||
		errors.Is(err, redis.ErrClosed)
}
