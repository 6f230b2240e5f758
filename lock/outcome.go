package lock

import (
	"context"
	"errors"
)

// Outcome is how a call or a hold ended, in a word that is fit for a label.
type Outcome string

// The outcomes of a call: Observer.End.
const (
	OutcomeHeld        Outcome = "held"
	OutcomeBusy        Outcome = "busy"        // another has it, and MaxWait is over or the call did not wait
	OutcomeCancelled   Outcome = "cancelled"   // the caller's context ended
	OutcomeUnavailable Outcome = "unavailable" // Redis did not answer, or refused
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
// An error can match several sentinels. The order is by what there is to do: a conflict first, and a cancelled wait
// after one that Redis did not answer, so that an outage shows although the callers have deadlines.
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
