//go:build unix && !aix

package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"time"

	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/rlock"
)

// firstWord is how long a run waits before it says what for. A person who sees nothing takes it for one that hangs.
const firstWord = time.Second

// tell says what a run waits for, until the caller has the lock, or gives up, and calls ended. The client logs nothing
// meanwhile: what it could say is the same.
func (f *runFlags) tell(
	ctx context.Context, to io.Writer, conn *connection, name string, lock lockable,
) (ended func()) {
	conn.muted.Store(true)
	if f.quiet {
		return func() { conn.muted.Store(false) }
	}
	ctx, cancel := context.WithCancel(ctx)
	done := make(chan struct{})
	go func() {
		defer close(done)
		const looks = firstWord / 2
		for next := time.Now().Add(firstWord); wait(ctx, time.Until(next)-looks); next = time.Now().Add(nextWord) {
			text := conn.waitsFor(ctx, name, lock, looks)
			if !wait(ctx, time.Until(next)) {
				return
			}
			_, _ = fmt.Fprintln(to, "holdfast: waiting"+text)
		}
	}()
	return func() {
		cancel()
		<-done // bounded: a look whose context ends returns at once
		conn.muted.Store(false)
	}
}

// wait reports false if ctx ends before the time is over.
func wait(ctx context.Context, d time.Duration) bool {
	timer := time.NewTimer(d)
	defer timer.Stop()
	select {
	case <-ctx.Done():
		return false
	case <-timer.C:
		return true
	}
}

// waitsFor is who has the lock, or that Redis does not say so in time.
func (c *connection) waitsFor(ctx context.Context, name string, lock lockable, limit time.Duration) string {
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	info, err := lock.look(ctx)
	switch {
	case err != nil && ctx.Err() != nil:
		return ": Redis does not answer" + c.hint(ctx.Err())
	case errors.Is(err, rlock.ErrUnavailable) && !store.Denied(err):
		return fmt.Sprintf(": Redis does not answer: %v%s", cause(err), c.hint(cause(err)))
	case err != nil, len(info.Holders) == 0:
		return " for " + shown(name)
	}
	first := info.Holders[0]
	holder := first.ID
	if first.Owner != "" {
		holder = first.Owner
	}
	text := fmt.Sprintf(" for %s, held by %s", shown(name), escaped(holder))
	if info.Held > 1 {
		text += fmt.Sprintf(" and %d more", info.Held-1)
	}
	return text
}
