package etcdlock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/holdfast-go/holdfast/etcdlock/internal/etcdstore"
	"github.com/holdfast-go/holdfast/lock"
)

const (
	trialName  = "holdfast-check"
	fullEnough = 0.8 // of the quota of a server's database
)

// Check finds out whether an etcd suits locks, and the Client the etcd: of each server its version, its answer, whether
// it has a leader and room; then a trial lock of the name "holdfast-check". It changes nothing else.
func Check(ctx context.Context, c *Client) []lock.Finding {
	if err := c.opened(); err != nil {
		return []lock.Finding{{Name: "client", Level: lock.LevelFailure, Text: err.Error()}}
	}
	if ctx == nil {
		return []lock.Finding{{Name: "client", Level: lock.LevelFailure, Text: "the context must not be nil"}}
	}
	var all []lock.Finding
	answered := 0
	for _, endpoint := range c.etcd.Endpoints() {
		began := time.Now()
		server, err := c.store.Server(c.store.Within(ctx, c.limit()), endpoint)
		if err != nil {
			all = append(all, lock.Finding{Name: "server", Server: endpoint, Level: lock.LevelWarning,
				Text: unanswered(ctx, "ask the server", err).Error()})
			continue
		}
		answered++
		all = append(all, c.serverFindings(endpoint, &server, time.Since(began))...)
	}
	all = append(all, c.majority(answered))
	if answered > 0 {
		all = append(all, c.operations(ctx)...)
	}
	for _, f := range all {
		if f.Level == lock.LevelFailure {
			return all
		}
	}
	return append(all, c.trial(ctx)...)
}

func (c *Client) serverFindings(endpoint string, s *etcdstore.Server, took time.Duration) []lock.Finding {
	of := func(name string, level lock.Level, format string, args ...any) lock.Finding {
		return lock.Finding{Name: name, Server: endpoint, Level: level, Text: fmt.Sprintf(format, args...)}
	}
	var all []lock.Finding
	if etcdstore.TooOld(s.Version) {
		all = append(all, of("version", lock.LevelFailure, "%v", &VersionError{Endpoint: endpoint, Version: s.Version}))
	} else {
		all = append(all, of("version", lock.LevelOK, "etcd %s", s.Version))
	}
	if took > c.limit()/2 {
		all = append(all, of("round trip", lock.LevelWarning,
			"the answer took %v, and a request has %v: use a longer Lease", took.Round(time.Millisecond), c.limit()))
	} else {
		all = append(all, of("round trip", lock.LevelOK, "the answer took %v", took.Round(time.Millisecond)))
	}
	switch {
	case !s.Leader:
		all = append(all, of("leader", lock.LevelFailure, "the server knows no leader, and can grant nothing"))
	case s.Learner:
		all = append(all, of("leader", lock.LevelWarning, "the server is a learner, and has no vote"))
	}
	switch {
	case s.NoSpace:
		all = append(all, of("space", lock.LevelFailure, "the database is full (NOSPACE), and no lock can be taken: "+
			"compact it, defragment, and disarm the alarm"))
	case s.Quota > 0 && float64(s.Size) > fullEnough*float64(s.Quota):
		all = append(all, of("space", lock.LevelWarning, "the database has %d MB of %d: each turn of a lock leaves "+
			"two revisions, so let etcd compact by itself (--auto-compaction-retention)", s.Size>>20, s.Quota>>20))
	default:
		all = append(all, of("space", lock.LevelOK, "the database has %d MB", s.Size>>20))
	}
	return all
}

// operations says that requests are smaller than usual, if they have to be.
func (c *Client) operations(ctx context.Context) []lock.Finding {
	most, err := c.store.MostOps(c.store.Within(ctx, c.limit()))
	if err != nil || most >= etcdstore.UsualOps {
		return nil // an error is that of the trial, too
	}
	return []lock.Finding{{Name: "operations", Level: lock.LevelWarning, Text: fmt.Sprintf(
		"a transaction may have fewer than %d operations (--max-txn-ops), and so renewals and releases of many "+
			"locks take more requests, of %d: raise it to the default", etcdstore.UsualOps, most)}}
}

// majority says what the loss of a server costs.
func (c *Client) majority(answered int) lock.Finding {
	servers := len(c.etcd.Endpoints())
	switch {
	case answered == 0:
		return lock.Finding{Name: "servers", Level: lock.LevelFailure, Text: "no server answers"}
	case servers < 3:
		return lock.Finding{Name: "servers", Level: lock.LevelWarning, Text: fmt.Sprintf(
			"name at least three endpoints, so that locks survive the loss of a server: the client knows %d", servers)}
	}
	return lock.Finding{Name: "servers", Text: fmt.Sprintf("%d of %d endpoints answer", answered, servers)}
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

// tokens says how the tokens of this etcd compare with those of other stores, which are microseconds of a clock. That
// matters only to a program that moves, so it is no failure. A token that is not above an earlier one of the client's
// is.
func tokens(fence, before int64, now time.Time) lock.Finding {
	if fence <= before {
		return lock.Finding{Name: "tokens", Level: lock.LevelFailure, Text: fmt.Sprintf(
			"tokens have fallen, to %d, and this client has had %d: etcd was restored from a snapshot, and storage "+
				"that checks tokens refuses every holder. Stop the programs, call Rebase, and start them",
			fence, before)}
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
