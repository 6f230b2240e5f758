//go:build unix && !aix

package cli

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strconv"
	"strings"
	"syscall"

	"github.com/holdfast-go/holdfast/rlock"
)

// holdsVariable has all holds that a command runs under as id=token, the innermost last. HOLDFAST_ID alone would not
// tell a run of those that are further out.
const holdsVariable = "HOLDFAST_HOLDS"

// side is a way in which a lock's name can be held.
type side struct {
	look  func(ctx context.Context) (rlock.Info, error)
	joins bool // a command for the lock may run under such a hold
}

// aroundError is the error of a run that would wait for a run around it, which waits for this one.
type aroundError struct {
	name, id, fence string // of the hold
	joins           bool
}

func (e aroundError) Error() string {
	text := fmt.Sprintf("a holdfast run around this one holds %s, and waits for this one to end: ", shown(e.name))
	if !e.joins {
		return text + "it holds it for reading only; let it hold it for writing, and leave out this run"
	}
	return text + "leave out this run, or let its command run under that hold by --join"
}

// outside makes a lock refuse a run that is within another one which has it. If that cannot be found out, the lock is
// asked for, whose error says why.
func (f *runFlags) outside(name string, lock lockable) lockable {
	around := make(map[string]string) // tokens by ids
	for each := range strings.FieldsSeq(os.Getenv(holdsVariable)) {
		id, fence, _ := strings.Cut(each, "=")
		around[id] = fence
	}
	if len(around) == 0 {
		return lock
	}
	take := lock.take
	lock.take = func(ctx context.Context) (context.Context, func() error, error) {
		var found aroundError
		held := int64(0)
		for _, s := range lock.sides {
			info, err := s.look(ctx)
			if err != nil {
				break
			}
			for _, holder := range info.Holders {
				if fence, is := around[holder.ID]; is {
					found = aroundError{name: name, id: holder.ID, fence: fence, joins: s.joins}
					held++
				}
			}
		}
		if held >= lock.room || held > 0 && f.join && found.joins {
			return ctx, nil, found
		}
		return take(ctx)
	}
	return lock
}

// replace makes this process the command, under the hold of the run around it, which ends all that runs below it before
// the hold is over. It returns only if that fails.
func (e aroundError) replace(path string, command []string) error {
	for _, variable := range variables(e.name, e.id, e.fence) {
		name, value, _ := strings.Cut(variable, "=")
		if err := os.Setenv(name, value); err != nil {
			return codeError{exitSystem, err}
		}
	}
	err := syscall.Exec(path, command, os.Environ())
	code := exitNotExecutable
	if errors.Is(err, syscall.ENOENT) { // the interpreter of a script
		code = exitNotFound
	}
	return codeError{code, fmt.Errorf("%s: %w", path, err)}
}

// environment is what the command is told of the hold.
func (h hold) environment(name string) ([]string, error) {
	now, err := h.held(h.ctx)
	if err != nil {
		return nil, err
	}
	fence := ""
	if h.fences {
		fence = strconv.FormatInt(now.Fence, 10)
	}
	around := strings.TrimSpace(os.Getenv(holdsVariable) + " " + now.ID + "=" + fence)
	return append(variables(name, now.ID, fence), holdsVariable+"="+around), nil
}

// variables tell a command of the hold that it runs under. An empty token is there, too: a command in another one must
// not take that one's for its own.
func variables(name, id, fence string) []string {
	return []string{"HOLDFAST_NAME=" + name, "HOLDFAST_ID=" + id, "HOLDFAST_FENCE=" + fence}
}
