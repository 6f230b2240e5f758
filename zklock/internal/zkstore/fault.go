package zkstore

import (
	"errors"
	"fmt"

	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/zklock/internal/wire"
)

// ServerError says that a server cannot keep locks as they are promised.
type ServerError struct {
	Server  string // its address
	Problem string

	shorter bool // it has given the session less time than it had
}

// Error implements error.
func (e *ServerError) Error() string { return fmt.Sprintf("the server at %s %s", e.Server, e.Problem) }

var (
	// errOver is the error of what was to be done under a session that is over.
	errOver = errors.New("the client's session in ZooKeeper has ended")
	// errSpent is that of a session that the client has given up by its own clock. No server has said anything.
	errSpent = fmt.Errorf("%w, for nothing has proven it for as long as it lasts", errOver)
)

// meaning is what an error says of the request that it answers, or that it left without an answer.
//
// What a server refuses was not done. Where it refuses because the session is attached elsewhere, or lost its leader,
// the request may have been passed on, or be answered as another one was. So may everything that ended with the
// connection or the time. A session that has ended takes with it what was made under it, and nothing can be made under
// it any more.
func meaning(err error) error {
	if err == nil {
		return nil
	}
	var already *store.Failure
	if errors.As(err, &already) {
		return err
	}
	fault := func(f store.Fault, answered, denied bool) error {
		return &store.Failure{Fault: f, Answered: answered, Denied: denied, Err: err}
	}
	var code wire.Code
	var unfit *ServerError
	switch {
	case errors.As(err, &unfit):
		return fault(store.FaultDefinite, true, false)
	case errors.Is(err, errSpent):
		return fault(store.FaultTransient, false, false)
	case errors.Is(err, errOver):
		return fault(store.FaultTransient, true, false)
	case errors.Is(err, wire.ErrUnsent):
		return fault(store.FaultTransient, false, false)
	case errors.Is(err, wire.ErrNonsense), errors.Is(err, wire.ErrLost), !errors.As(err, &code):
		return fault(store.FaultAmbiguous, false, false)
	}
	switch code {
	case wire.NoAuth, wire.AuthFailed, wire.InvalidACL:
		return fault(store.FaultDefinite, true, true)
	case wire.Unimplemented, wire.BadArguments, wire.MarshallingError, wire.QuotaExceeded:
		return fault(store.FaultDefinite, true, false)
	case wire.NoNode, wire.NodeExists, wire.BadVersion, wire.NotEmpty, wire.Throttled:
		return fault(store.FaultTransient, true, false)
	}
	return fault(store.FaultAmbiguous, true, false)
}

// notSent is the error of a request that was not sent, because something before it failed.
func notSent(err error) error {
	if err == nil {
		return nil
	}
	var known *store.Failure
	if errors.As(err, &known) && known.Fault != store.FaultAmbiguous {
		return err
	}
	return &store.Failure{Fault: store.FaultTransient, Err: err}
}
