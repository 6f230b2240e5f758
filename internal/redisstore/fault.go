package redisstore

import (
	"errors"
	"net"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/store"
)

// meaning wraps err with its meaning for the script's sender, if Redis or the connection says it.
//
// An error without a known meaning stays as it is, and its sender treats it as ambiguous: the script may have
// run. The other meanings are claims about the server, so each needs a proof. A failed dial and a full pool
// prove that nothing was written to a connection; an answer of Redis proves that the script wrote nothing. A
// broken connection and a timeout prove nothing.
func meaning(err error) error {
	if err == nil {
		return nil // before the variables below are made
	}
	return explained(luacall.Explain(err)) // the error may come from a connection that was being made
}

// Meaning is what an error means of commands that are no scripts of ours.
func Meaning(err error) error { return meaning(err) }

func explained(err error) error {
	if fault := store.FaultOf(err); fault != store.FaultAmbiguous {
		return err
	}
	var refused redis.Error
	var denied *luacall.DeniedError
	var op *net.OpError
	means := &store.Failure{
		Fault: store.FaultAmbiguous, Err: err, Answered: errors.As(err, &refused), Denied: errors.As(err, &denied),
	}
	switch {
	case errors.Is(err, redis.ErrClosed):
		means.Fault = store.FaultDefinite
	case errors.As(err, &op) && op.Op == "dial", errors.Is(err, redis.ErrPoolTimeout),
		errors.Is(err, redis.ErrPoolExhausted):
		means.Fault = store.FaultTransient
	case means.Answered && luacall.Passes(err):
		means.Fault = store.FaultTransient
	case means.Answered:
		means.Fault = store.FaultDefinite
	case !means.Denied:
		return err
	}
	return means
}
