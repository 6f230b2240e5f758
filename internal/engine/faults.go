package engine

import (
	"context"
	"errors"
	"net"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/pipeline"
	"github.com/holdfast-go/holdfast/lua"
)

// fault says what an error of one script call means for the caller.
type fault int

const (
	faultNone      fault = iota
	faultAmbiguous       // the script may have run, or may still run until its not-after
	faultTransient       // it did not run; the same call may succeed later
	faultConflict        // something that is no such lock is at the key
	faultDefinite        // it did not run and will not
)

// classify sorts an error. A script that Redis answered with an error wrote nothing: our scripts
// check everything before their first write.
func classify(err error) fault {
	if err == nil {
		return faultNone // before the variables below are made
	}
	return sortOut(err)
}

func sortOut(err error) fault {
	var shortfall *shortfallError
	var refused redis.Error
	var op *net.OpError
	var impossible *Refused
	var settled *Settled
	switch {
	case errors.As(err, &shortfall):
		return faultAmbiguous
	case errors.Is(err, lua.ErrConflict):
		return faultConflict
	case errors.As(err, &impossible):
		return faultDefinite
	case errors.Is(err, errUnsent), errors.Is(err, redis.ErrClosed):
		return faultDefinite
	case errors.As(err, &settled), errors.Is(err, pipeline.ErrLate):
		return faultTransient
	case errors.As(err, &op) && op.Op == "dial", errors.Is(err, redis.ErrPoolTimeout),
		errors.Is(err, redis.ErrPoolExhausted):
		return faultTransient
	case errors.As(err, &refused):
		if lua.Passes(err) {
			return faultTransient
		}
		return faultDefinite
	}
	return faultAmbiguous
}

// denied reports that the server refused who asks.
func denied(err error) bool {
	var refused *lua.DeniedError
	return errors.As(err, &refused)
}

// ours hides a command's own deadline from errors.Is.
func ours(err error) error {
	if errors.Is(err, context.DeadlineExceeded) || errors.Is(err, context.Canceled) {
		return opaque{err}
	}
	return err
}
