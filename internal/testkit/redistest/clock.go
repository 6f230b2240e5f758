package redistest

import (
	"context"
	"errors"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testkit/servers"
)

// Clock is the wall clock of one server, which a test sets.
type Clock struct {
	t      testing.TB
	server *Server
	clock  *servers.Clock
}

// StartWithClock starts a server whose wall clock can be set. That takes Linux and a C compiler: see
// [servers.NeedClock].
func StartWithClock(t testing.TB, opts ...Option) (*Server, *Clock) {
	t.Helper()
	servers.NeedClock(t)
	path, err := program()
	if err != nil {
		t.Fatalf("redistest: %v", err)
	}
	clock, wrapper, err := servers.NewClock(t.TempDir(), path)
	if err != nil {
		t.Fatalf("redistest: %v", err)
	}
	c := &Clock{t: t, clock: clock, server: Start(t, append(opts, func(c *config) { c.program = wrapper })...)}
	c.Ahead(time.Hour)
	c.Ahead(0)
	return c.server, c
}

// ClockMissing says in a sentence why [StartWithClock] cannot set a server's clock on this machine; "" if it can.
func ClockMissing() string {
	missing := servers.ClockMissing()
	if _, err := program(); missing == "" && err != nil {
		missing = "the server's clock cannot be set: " + err.Error()
	}
	return missing
}

// Ahead sets how far the server's clock is ahead of the machine's, and waits until the server's time says so: a server
// may go on by the monotonic clock from the time that it read last, for some milliseconds.
func (c *Clock) Ahead(d time.Duration) {
	c.t.Helper()
	if err := c.clock.Ahead(d); err != nil {
		c.t.Fatalf("redistest: %v", err)
	}
	for end := time.Now().Add(10 * time.Second); ; time.Sleep(time.Millisecond) {
		ahead := time.Until(c.Now())
		if (ahead - d).Abs() < time.Second {
			return
		}
		if time.Now().After(end) {
			c.t.Fatalf("redistest: the server's clock does not obey: it is ahead by %v instead of %v", ahead, d)
		}
	}
}

// Now is the server's time. The server reads its clock once per iteration of its loop: the answer to the second
// command reflects the setting.
func (c *Clock) Now() time.Time {
	c.t.Helper()
	rdb := c.server.Client(c.t)
	err := rdb.Ping(context.Background()).Err()
	now, timeErr := rdb.Time(context.Background()).Result()
	if err := errors.Join(err, timeErr); err != nil {
		c.t.Fatalf("redistest: %v", err)
	}
	return now
}
