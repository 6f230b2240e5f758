package lua

import (
	"errors"
	"strings"

	"github.com/redis/go-redis/v9"
)

// passing are the states of a server that pass: it is starting, failing over, moving the slot, busy with
// somebody's script, or out of memory, replicas or disk.
var passing = []string{
	"LOADING", "READONLY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "MOVED", "ASK", "BUSY", "OOM",
	"MISCONF", "NOREPLICAS", "NOSCRIPT", "UNBLOCKED", "max number of clients",
}

// Passes reports that a server's refusal is of a passing kind. Redis 6.2 wraps what a command inside a script was
// refused with, so there the text has to be searched.
func Passes(err error) bool {
	wrapped := redis.HasErrorPrefix(err, "Error running script")
	for _, prefix := range passing {
		if redis.HasErrorPrefix(err, prefix) || wrapped && strings.Contains(err.Error(), "-"+prefix) {
			return true
		}
	}
	return false
}

// Crossed reports that a server refused a script because its keys are in several slots. Proxies say so in words of
// their own: that [Refused] the script as a whole, and no part of it sent by itself, says the same.
func Crossed(err error) bool { return redis.HasErrorPrefix(err, "CROSSSLOT") }

// Refused reports that a server refused a script for what it is, and not for the state that the server is in, or
// for what is at the keys, which the script itself finds out. It did not run.
func Refused(err error) bool {
	if err == nil { // nearly always, and said costs an allocation
		return false
	}
	var said redis.Error
	return errors.As(err, &said) && !Passes(err) && !strings.HasPrefix(said.Error(), "HOLDFAST") &&
		!errors.Is(classify(err), ErrConflict)
}
