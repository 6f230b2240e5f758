package rlock

import (
	"context"
	"errors"
	"fmt"
	"time"

	"github.com/google/uuid"

	"github.com/holdfast-go/holdfast/internal/checkup"
	"github.com/holdfast-go/holdfast/internal/keys"
	"github.com/holdfast-go/holdfast/internal/redisclient"
)

// Level is how bad a Finding is.
type Level int

// The levels of findings.
const (
	LevelOK      Level = iota // as it should be, or harmless
	LevelWarning              // locks work, with less than they promise
	LevelFailure              // locks do not work, or may be lost without need
)

func (l Level) String() string {
	switch l {
	case LevelOK:
		return "ok"
	case LevelWarning:
		return "warning"
	}
	return "failure"
}

// MarshalText implements encoding.TextMarshaler.
func (l Level) MarshalText() ([]byte, error) { return []byte(l.String()), nil }

// Finding is one thing that Check looked at.
type Finding struct {
	Name   string // "version", "eviction", "rights" and so on
	Server string // of a cluster: the address of the primary that it is about; "" if it is about none
	Level  Level
	Text   string // what was found, and what to do about it
}

// Check finds out whether a Redis suits locks: version, round trip and lease, clock, eviction, persistence, replicas,
// cluster, rights by name, messages, and a trial lock with all its requests. On a cluster it asks every primary.
//
// Name is the name of the trial lock, which nobody else may use; "" makes one up. Choose one that the user may use, if
// its rights are for some keys only. Check deletes what it wrote, and changes nothing else. What a server refuses to
// answer, as managed ones do with CONFIG, is a finding that says so.
func (c *Client) Check(ctx context.Context, name string) []Finding {
	if name == "" {
		name = "holdfast:check:" + uuid.NewString()
	}
	checked, err := (*redisclient.Client)(c).Checkup(name)
	if err != nil {
		return []Finding{{Name: "client", Level: LevelFailure, Text: err.Error()}}
	}
	checked.Token = keys.Prefix(tokenPrefix, checked.Key)
	checked.Channel = keys.Prefix(channelPrefix, checked.Key)
	var all []Finding
	for _, f := range checkup.Run(ctx, checked) {
		if all = append(all, Finding{f.Name, f.Server, Level(f.Level), f.Text}); f.Name == "connection" &&
			f.Level == checkup.Failure {
			return all
		}
	}
	return append(all, c.trial(ctx, name, checked))
}

// trial takes a lock, re-enters it with a longer lease, looks at it, moves it, and releases it.
func (c *Client) trial(ctx context.Context, name string, checked *checkup.Client) Finding {
	began := time.Now()
	if err := c.try(ctx, name); err != nil {
		return Finding{Name: "trial", Level: LevelFailure, Text: fmt.Sprintf("a trial lock failed: %v", err)}
	}
	took := time.Since(began)
	if err := checked.Redis.Del(checked.Within(ctx), checked.Token).Err(); err != nil {
		return Finding{Name: "trial", Level: LevelOK, Text: fmt.Sprintf("a trial lock was taken, re-entered, "+
			"moved and "+
			"released in %v; its token, %q, cannot be deleted (%v), and expires", took.Round(time.Millisecond),
			checked.Token, err)}
	}
	return Finding{Name: "trial", Level: LevelOK, Text: fmt.Sprintf("a trial lock was taken, re-entered, moved "+
		"and released "+
		"in %v", took.Round(time.Millisecond))}
}

func (c *Client) try(ctx context.Context, name string) (err error) {
	lock := New(c, name, FixedLease(10*time.Second))
	held, unlock, err := lock.TryLock(ctx)
	if err != nil {
		return err
	}
	inner, leave, err := New(c, name, FixedLease(time.Minute)).TryLock(held) // a level with a request of its own
	if err == nil {
		_, err = New(c, name).Inspect(inner)
		err = errors.Join(err, leave())
	}
	if err != nil {
		return errors.Join(err, unlock())
	}
	token, err := lock.Export(held)
	if err != nil {
		return errors.Join(err, unlock())
	}
	_, unlock, err = lock.Import(ctx, token)
	if err != nil {
		return err
	}
	return unlock()
}
