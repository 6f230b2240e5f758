package luacall

import (
	"errors"
	"strings"

	"github.com/redis/go-redis/v9"
)

// passing are the states of a server that pass: it is starting, failing over, migrating the slot, busy with another
// script, or out of memory, replicas or disk.
var passing = []string{
	"LOADING", "READONLY", "MASTERDOWN", "CLUSTERDOWN", "TRYAGAIN", "MOVED", "ASK", "BUSY", "OOM",
	"MISCONF", "NOREPLICAS", "NOSCRIPT", "UNBLOCKED", "max number of clients",
}

// Passes reports that a server's refusal will pass. Redis 6.2 wraps the refusal of a command inside a script, so
// there the text has to be searched.
func Passes(err error) bool {
	wrapped := redis.HasErrorPrefix(err, "Error running script")
	for _, prefix := range passing {
		if redis.HasErrorPrefix(err, prefix) || wrapped && strings.Contains(err.Error(), "-"+prefix) {
			return true
		}
	}
	return false
}

// Crossed reports that a server refused a script because its keys are in several slots. Proxies word that
// differently: the same follows if the server [Refused] the script as a whole, but no part of it sent by itself.
func Crossed(err error) bool { return redis.HasErrorPrefix(err, "CROSSSLOT") }

// Refused reports that a server refused the script itself, not because of the server's state or because of the data
// at the keys, which the script itself checks. It did not run.
func Refused(err error) bool {
	if err == nil { // the usual case; errors.As would cost an allocation
		return false
	}
	var said redis.Error
	return errors.As(err, &said) && !Passes(err) && !strings.HasPrefix(said.Error(), "HOLDFAST") &&
		!errors.Is(classify(err), ErrConflict)
}
