package luacall

import (
	"errors"
	"regexp"
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

// DeniedError is a server's refusal of this client: the user lacks a right, or was not authenticated. It does not
// pass by itself. The text says what is lacking, followed by the server's error, which it wraps.
type DeniedError struct {
	Lacks string
	cause error
}

func (e *DeniedError) Error() string { return e.Lacks + ": " + e.cause.Error() }

// Unwrap returns the server's error.
func (e *DeniedError) Unwrap() error { return e.cause }

// Explain returns err, wrapped in a [DeniedError] if it is such a refusal.
func Explain(err error) error { return explain(err, "") }

// explain is Explain for an error of a script with that source: some servers name only the line.
func explain(err error, source string) error {
	var said redis.Error
	if denied := (*DeniedError)(nil); !errors.As(err, &said) || errors.As(err, &denied) {
		return err
	}
	lacks := lacking(said.Error(), source)
	if lacks == "" {
		return err
	}
	if strings.Contains(err.Error(), ofSentinels) {
		lacks = "a Sentinel refuses to name the primary: " + strings.ReplaceAll(lacks, "Redis", "it")
	}
	return &DeniedError{Lacks: lacks, cause: err}
}

// ofSentinels stands in go-redis's error of Sentinels of which none has named the primary. A client has other
// credentials for them than for the primary.
const ofSentinels = "all sentinels specified"

// lacking says what a refusal is about; "" if it is not about rights. On most servers the refusal of a command inside
// a script has no error code of its own, and each server words it differently.
func lacking(said, source string) string {
	has := func(part string) bool { return strings.Contains(said, part) }
	switch {
	case strings.HasPrefix(said, "WRONGPASS"), has("AUTH <password> called without any password"):
		return "Redis refused the credentials"
	case strings.HasPrefix(said, "NOAUTH"):
		return "Redis asks for credentials, and the client has none"
	case !strings.HasPrefix(said, "NOPERM") && !has("-NOPERM") && !has("The user executing the script can't") &&
		!has("ACL failure in script"):
		return ""
	case has("channel"):
		return "the user has no right to one of the channels"
	case has("keys") || has("access a key"):
		return "the user has no right to one of the keys"
	}
	if name := refusedCommand.FindStringSubmatch(said); name != nil {
		return "the user has no right to run " + strings.ToUpper(name[1])
	}
	if names := commandsAt(said, source); len(names) > 0 {
		return "the user has no right to run " + strings.Join(names, " or ")
	}
	return "the user has no right to run a command"
}

var (
	refusedCommand = regexp.MustCompile(`run the '([^']+)' command`)
	refusedLine    = regexp.MustCompile(`@user_script: ?(\d+)`)
	calledCommand  = regexp.MustCompile(`redis\.p?call\('(\w+)'`)
)

// commandsAt returns the commands that a script calls in the line that an error names.
func commandsAt(said, source string) (names []string) {
	at := refusedLine.FindStringSubmatch(said)
	if at == nil {
		return nil
	}
	n, err := strconv.Atoi(at[1])
	lines := strings.Split(source, "\n")
	if err != nil || n < 1 || n > len(lines) {
		return nil
	}
	for _, call := range calledCommand.FindAllStringSubmatch(lines[n-1], -1) {
		names = append(names, call[1])
	}
	return names
}

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
