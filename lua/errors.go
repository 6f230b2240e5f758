package lua

import (
	"errors"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/store"
)

// ErrConflict is matched by the error of a script that found something else than a lock
// or a fencing token at its key. Nothing was written.
var ErrConflict = store.ErrConflict

// conflictMark starts the error replies with which the scripts themselves tell a conflict.
const conflictMark = "HOLDFASTCONFLICT "

// conflictError makes the answer of Redis match ErrConflict as well as itself.
type conflictError struct {
	reason string
	cause  error
}

func (e *conflictError) Error() string { return "lua: " + ErrConflict.Error() + ": " + e.reason }

func (e *conflictError) Is(target error) bool { return target == ErrConflict }

func (e *conflictError) Unwrap() error { return e.cause }

// classify returns err, as a conflict if it is one. Redis 7 puts the code of an error
// inside a script first, as everywhere; Redis 6 writes "ERR Error running script (call to
// f_<sha>): @user_script:<line>: WRONGTYPE ..." instead.
func classify(err error) error {
	if bad := (*strconv.NumError)(nil); errors.As(err, &bad) {
		// Of a row of numbers only a stored token is not the script's own.
		return &conflictError{reason: "the fencing token is not an integer", cause: err}
	}
	var reply redis.Error
	if !errors.As(err, &reply) {
		return err
	}
	message := reply.Error()
	if reason, found := strings.CutPrefix(message, conflictMark); found {
		return &conflictError{reason: reason, cause: err}
	}
	if strings.HasPrefix(message, "WRONGTYPE ") || strings.Contains(message, ": WRONGTYPE ") {
		return &conflictError{reason: "it is of another type", cause: err}
	}
	return err
}
