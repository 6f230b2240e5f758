package lock

import (
	"context"
	"errors"
	"io"
	"net"
	"strings"

	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/watchdog"
)

// Outcome is how a call or a hold ended, in a word that is fit for a label.
type Outcome string

// The outcomes of a call: Observer.End.
const (
	OutcomeHeld        Outcome = "held"
	OutcomeBusy        Outcome = "busy"        // another has it, and MaxWait is over or the call did not wait
	OutcomeCancelled   Outcome = "cancelled"   // the caller's context ended
	OutcomeUnavailable Outcome = "unavailable" // the store did not answer, or refused
	OutcomeConflict    Outcome = "conflict"    // ErrKeyConflict
	OutcomeClosed      Outcome = "closed"      // the client was closed; of a hold as well
	OutcomeError       Outcome = "error"       // anything else
)

// The outcomes of a hold: Observer.Ended. OutcomeClosed is an outcome of holds as well, and so is OutcomeUnavailable:
// of one whose Export was not answered.
const (
	OutcomeReleased    Outcome = "released"
	OutcomeExported    Outcome = "exported"
	OutcomeLost        Outcome = "lost"
	OutcomeUnconfirmed Outcome = "unconfirmed" // ErrUnconfirmed: it was held to its end, and its release goes on
)

// OutcomeOf is how a call ended that returned err.
//
// An error can match several sentinels. The order is by what there is to do: a conflict comes first. A wait in
// which the store was silent counts as unavailable even if it was cancelled in the end, so that an outage shows
// although the callers have deadlines.
func OutcomeOf(err error) Outcome {
	switch {
	case err == nil:
		return OutcomeHeld
	case errors.Is(err, ErrKeyConflict):
		return OutcomeConflict
	case errors.Is(err, ErrClosed):
		return OutcomeClosed
	case errors.Is(err, ErrUnavailable):
		return OutcomeUnavailable
	case errors.Is(err, context.Canceled), errors.Is(err, context.DeadlineExceeded):
		return OutcomeCancelled
	case errors.Is(err, ErrBusy):
		return OutcomeBusy
	}
	return OutcomeError
}

// OutcomeOfHold is how a hold ended with err, which Observer.Ended was told.
func OutcomeOfHold(err error) Outcome {
	switch {
	case err == nil:
		return OutcomeReleased
	case errors.Is(err, ErrExported):
		return OutcomeExported
	case errors.Is(err, ErrLost):
		return OutcomeLost
	case errors.Is(err, ErrUnconfirmed):
		return OutcomeUnconfirmed
	case errors.Is(err, ErrClosed):
		return OutcomeClosed
	case errors.Is(err, ErrUnavailable):
		return OutcomeUnavailable
	}
	return OutcomeError
}

// Label is the reason in a word that is fit for a label: "expired", "gone" or "max_hold".
func (r LossReason) Label() string {
	switch r {
	case LossExpired:
		return "expired"
	case LossGone:
		return "gone"
	case LossMaxHold:
		return "max_hold"
	}
	return "unknown"
}

// codes are the errors of a Redis server that [ReasonOf] has as they are. There are others, and a script or a proxy
// could make any number of them.
var codes = []string{
	"ASK", "BUSY", "CLUSTERDOWN", "CROSSSLOT", "ERR", "EXECABORT", "LOADING", "MASTERDOWN", "MISCONF", "MOVED",
	"NOREPLICAS", "NOSCRIPT", "OOM", "READONLY", "TRYAGAIN", "UNBLOCKED", "WRONGTYPE",
}

// ReasonOf says why a renewal or a command failed, in a word that is fit for a label: the code of a Redis server's
// answer, such as LOADING or READONLY, or else one of
//
//	denied       the server refuses the credentials, or a right
//	conflict     the key is used for something else
//	gone         there is no such hold any more
//	replicas     too few of them, or not the disks that must have it, confirmed it
//	refused      the server answered an error without a code that is known
//	timeout      there was no answer in time
//	unavailable  there was no connection, or it broke
//	closed       the client was closed
//	cancelled    the caller's context ended
//	error        anything else
//
// Without an error it is "".
func ReasonOf(err error) string {
	if err == nil {
		return ""
	}
	var late interface{ Timeout() bool }
	var short *store.ShortfallError
	var network net.Error
	switch {
	case store.Denied(err):
		return "denied"
	case store.FaultOf(err) == store.FaultConflict, errors.Is(err, ErrKeyConflict):
		return "conflict"
	case errors.Is(err, watchdog.ErrGone):
		return LossGone.Label()
	case errors.As(err, &short):
		return "replicas"
	}
	if code, answered := codeOf(err); answered {
		return code
	}
	switch {
	case errors.Is(err, ErrClosed):
		return string(OutcomeClosed)
	case errors.Is(err, context.DeadlineExceeded), errors.As(err, &late) && late.Timeout():
		return "timeout"
	case errors.Is(err, context.Canceled):
		return string(OutcomeCancelled)
	case errors.As(err, &network), errors.Is(err, io.EOF), errors.Is(err, io.ErrUnexpectedEOF),
		store.FaultOf(err) == store.FaultTransient, errors.Is(err, ErrUnavailable):
		return string(OutcomeUnavailable)
	}
	return string(OutcomeError)
}

// codeOf is the code of what a server answered, if it answered.
func codeOf(err error) (code string, answered bool) {
	var known *store.Failure
	if !errors.As(err, &known) || !known.Answered {
		return "", false
	}
	said := known.Error()
	for _, code := range codes {
		if rest, ok := strings.CutPrefix(said, code); ok && (rest == "" || rest[0] == ' ') {
			return code, true
		}
	}
	return "refused", true
}
