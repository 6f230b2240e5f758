package lua

import (
	"errors"
	"regexp"
	"strconv"
	"strings"

	"github.com/redis/go-redis/v9"
)

// DeniedError is a server's refusal that has to do with who asks: the user lacks a right, or was not let in. It
// does not pass by itself. The text says what is lacking, and then what the server said, which it unwraps to.
type DeniedError struct {
	Lacks string
	cause error
}

func (e *DeniedError) Error() string { return e.Lacks + ": " + e.cause.Error() }

// Unwrap returns what the server said.
func (e *DeniedError) Unwrap() error { return e.cause }

// Explain returns err, as a [DeniedError] if it is one.
func Explain(err error) error { return explain(err, "") }

// explain is Explain for an error of a script with that text, in which servers tell the line alone.
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

// lacking says what a refusal is about; "" if it has nothing to do with rights. What a command inside a script is
// refused with has no code of its own on most servers, and the words of each.
func lacking(said, source string) string {
	has := func(part string) bool { return strings.Contains(said, part) }
	switch {
	case strings.HasPrefix(said, "WRONGPASS"), has("AUTH <password> called without any password"):
		return "redis refused the credentials"
	case strings.HasPrefix(said, "NOAUTH"):
		return "redis asks for credentials, and the client has none"
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

// commandsAt are the commands that a script calls in the line that an error names.
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
