package luacall

import (
	"errors"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/store"
)

// ErrConflict is matched by the error of a script that found something other than a lock or a fencing token at its
// key. Nothing was written.
var ErrConflict = store.ErrConflict

// conflictMark starts the error replies by which the scripts themselves report a conflict.
const conflictMark = "HOLDFASTCONFLICT "

// conflictError makes an error of Redis match ErrConflict as well as itself.
type conflictError struct {
	reason string
	cause  error
}

// Error is the reason alone: what callers see says before it that the key is used for something else.
func (e *conflictError) Error() string { return e.reason }

func (e *conflictError) Is(target error) bool { return target == ErrConflict }

func (e *conflictError) Unwrap() error { return e.cause }

// classify returns err, wrapped if it is a conflict. Redis 7 puts the code of an error inside a script first, as
// everywhere; Redis 6 writes "ERR Error running script (call to f_<sha>): @user_script:<line>: WRONGTYPE ..."
// instead.
func classify(err error) error {
	if bad := (*strconv.NumError)(nil); errors.As(err, &bad) && bad.Func == "ParseInt" {
		// In a reply of integers only a stored token does not come from the script itself.
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
		return &conflictError{reason: "a value of another type is there: choose another name or Prefix", cause: err}
	}
	return err
}
