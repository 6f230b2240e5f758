package luacall

import (
	"errors"
	"regexp"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

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
	if lacks := lacking(said.Error(), source); lacks != "" {
		return &DeniedError{Lacks: lacks, cause: err}
	}
	return err
}

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
