package zklock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/zklock/internal/zkstore"
)

const trialName = "holdfast-check"

// Check finds out whether a ZooKeeper suits locks, and the Client the ZooKeeper: of each server its version, its
// answer, and whether it serves; then a trial lock of the name "holdfast-check". It changes nothing else.
func Check(ctx context.Context, c *Client) []lock.Finding {
	if err := c.opened(); err != nil {
		return []lock.Finding{{Name: "client", Level: lock.LevelFailure, Text: err.Error()}}
	}
	if ctx == nil {
		return []lock.Finding{{Name: "client", Level: lock.LevelFailure, Text: "the context must not be nil"}}
	}
	var all []lock.Finding
	answered := 0
	for _, address := range c.servers {
		began := time.Now()
		server, err := c.store.Server(c.store.Within(ctx, c.limit()), address)
		if err != nil {
			all = append(all, lock.Finding{Name: "server", Server: address, Level: lock.LevelWarning,
				Text: unanswered(ctx, "ask the server", err).Error()})
			continue
		}
		answered++
		all = append(all, c.serverFindings(address, &server, time.Since(began))...)
	}
	all = append(all, c.majority(answered))
	for _, f := range all {
		if f.Level == lock.LevelFailure {
			return all
		}
	}
	return append(all, c.trial(ctx)...)
}

func (c *Client) serverFindings(address string, s *zkstore.Server, took time.Duration) []lock.Finding {
	of := func(name string, level lock.Level, format string, args ...any) lock.Finding {
		return lock.Finding{Name: name, Server: address, Level: level, Text: fmt.Sprintf(format, args...)}
	}
	var all []lock.Finding
	switch {
	case s.Version == "":
		all = append(all, of("version", lock.LevelWarning,
			"the server does not say what it is: it serves no clients, or has no srvr in 4lw.commands.whitelist: %q",
			s.Why))
	case zkstore.TooOld(s.Version) != "":
		all = append(all, of("version", lock.LevelFailure, "%v",
			&ServerError{Server: address, Problem: zkstore.TooOld(s.Version)}))
	case zkstore.Doubtful(s.Version) != "":
		all = append(all, of("version", lock.LevelWarning, "ZooKeeper %s: %s; use 3.9.4 or newer", s.Version,
			zkstore.Doubtful(s.Version)))
	default:
		all = append(all, of("version", lock.LevelOK, "ZooKeeper %s", s.Version))
	}
	if took > c.limit()/2 {
		return append(all, of("round trip", lock.LevelWarning,
			"the answer took %v, and a request has %v: use a longer Lease", took.Round(time.Millisecond), c.limit()))
	}
	return append(all, of("round trip", lock.LevelOK, "the answer took %v", took.Round(time.Millisecond)))
}

// majority says what the loss of a server costs.
func (c *Client) majority(answered int) lock.Finding {
	servers := len(c.servers)
	switch {
	case answered == 0:
		return lock.Finding{Name: "servers", Level: lock.LevelFailure, Text: "no server answers"}
	case servers < 3:
		return lock.Finding{Name: "servers", Level: lock.LevelWarning, Text: fmt.Sprintf(
			"name at least three servers, so that locks survive the loss of one: the client knows %d", servers)}
	}
	return lock.Finding{Name: "servers", Text: fmt.Sprintf("%d of %d servers answer", answered, servers)}
}

// trial takes a lock, looks at it and at its token, and releases it. Another Check that has it is waited for.
func (c *Client) trial(ctx context.Context) []lock.Finding {
	began := time.Now()
	var fence int64
	before := c.store.Newest()
	l := c.Lock(trialName, lock.MaxWait(time.Minute))
	err := l.Do(ctx, func(ctx context.Context) error {
		info, err := l.Inspect(ctx)
		if err == nil && info.Held != 1 {
			err = errors.New("the lock that was taken is held by nobody")
		}
		hold, lost := l.Held(ctx)
		fence = hold.Fence
		return errors.Join(err, lost)
	})
	if err != nil {
		return []lock.Finding{
			{Name: "trial", Level: lock.LevelFailure, Text: fmt.Sprintf("a trial lock failed: %v", err)},
		}
	}
	return []lock.Finding{
		{Name: "trial", Text: fmt.Sprintf("a trial lock was taken, looked at and released in %v",
			time.Since(began).Round(time.Millisecond))},
		tokens(fence, before, began),
	}
}

// tokens says how the tokens of this ZooKeeper compare with those of other stores, which are microseconds of a clock.
// That matters only to a program that moves, so it is no failure. A token that is not above an earlier one of the
// client's is.
func tokens(fence, before int64, now time.Time) lock.Finding {
	if fence <= before {
		return lock.Finding{Name: "tokens", Level: lock.LevelFailure, Text: fmt.Sprintf(
			"tokens have fallen, to %d, and this client has had %d: older data were restored, and storage that checks "+
				"tokens refuses every holder. Stop the programs, call Rebase, and start them", fence, before)}
	}
	behind := time.Duration(now.UnixMicro()-fence) * time.Microsecond
	switch text := "tokens are %v %s the clock, and so %s those of locks on Redis and PostgreSQL: %s"; {
	case behind > time.Second:
		return lock.Finding{Name: "tokens", Text: fmt.Sprintf(text, behind.Round(time.Second), "behind", "below",
			"call Rebase before a program moves here from there")}
	case behind < -time.Second:
		return lock.Finding{Name: "tokens", Text: fmt.Sprintf(text, -behind.Round(time.Second), "ahead of", "above",
			"a program may move there when they are behind")}
	}
	return lock.Finding{Name: "tokens", Text: "tokens are where those of locks on Redis and PostgreSQL are"}
}
