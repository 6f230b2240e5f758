package cli

import (
	"context"
	"errors"
	"fmt"
	"io"
	"text/tabwriter"

	"github.com/google/uuid"
	"github.com/spf13/cobra"

	"github.com/holdfast-go/holdfast/fairlock"
	"github.com/holdfast-go/holdfast/latch"
	"github.com/holdfast-go/holdfast/operate"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/rwlock"
	"github.com/holdfast-go/holdfast/semaphore"
)

// findingView is a finding in JSON.
type findingView struct {
	Name   string      `json:"name"`
	Server string      `json:"server,omitempty"`
	Level  rlock.Level `json:"level"`
	Text   string      `json:"text"`
}

func newDoctor(g *globals) *cobra.Command {
	var name string
	cmd := &cobra.Command{
		Use:   "doctor",
		Short: "Find out whether a Redis suits locks",
		Long: `Find out whether a Redis suits locks: version, round trip and lease, clock, scripts, eviction of keys
and of clients, persistence, replicas, cluster, rights by name, messages, and a trial of every kind of
lock. It deletes what it wrote. Give it the --lease, --min-replicas and --fsync of the programs that use
the locks: it judges them too.

The exit code is 1 if anything is a failure; warnings leave it at 0.`,
		Example: `  holdfast doctor
  holdfast doctor --redis rediss://locks:secret@redis.example.com:6379 --name app:doctor
  holdfast doctor --min-replicas 1 --fsync
  holdfast doctor -o json | jq '.[] | select(.level != "ok")'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return g.with(func(c *connection) error { return g.doctor(cmd, c, name) })
		},
	}
	cmd.Flags().StringVar(&name, "name", "", "`name` with which all trial locks begin, and no lock of others;\n"+
		"needed if the user's rights are for some keys only (default holdfast:check:...)")
	return cmd
}

func (g *globals) doctor(cmd *cobra.Command, c *connection, name string) error {
	if name == "" {
		name = "holdfast:check:" + uuid.NewString()
	}
	var found []findingView
	worst := rlock.LevelOK
	add := func(f rlock.Finding) {
		found, worst = append(found, findingView(f)), max(worst, f.Level)
	}
	reached := true
	for _, f := range operate.Check(cmd.Context(), c.client, name) {
		add(f)
		reached = reached && (f.Name != "connection" || f.Level == rlock.LevelOK)
	}
	if reached {
		for _, f := range g.tryKinds(cmd.Context(), c, name) {
			add(f)
		}
	}
	err := g.print(cmd.OutOrStdout(), found, func(to io.Writer) error { return tableOfFindings(to, found) })
	if err == nil && worst == rlock.LevelFailure {
		return codeError{code: exitFailed}
	}
	return err
}

func tableOfFindings(to io.Writer, found []findingView) error {
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	for _, f := range found {
		name := f.Name
		if f.Server != "" {
			name += " of " + f.Server
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\n", f.Level, name, oneLine(f.Text))
	}
	return w.Flush()
}

// tryKinds tries the kinds of locks that Check does not try.
func (g *globals) tryKinds(ctx context.Context, c *connection, name string) (found []rlock.Finding) {
	once := func(lock rlock.Locker) error {
		_, unlock, err := lock.TryLock(ctx)
		if err != nil {
			return err
		}
		return unlock()
	}
	rw := rwlock.New(c.client, name+":rw")
	for _, kind := range []struct {
		name string
		try  func() error
	}{
		{"fairlock", func() error { return once(fairlock.New(c.client, name+":fair")) }},
		{"rwlock", func() error { return errors.Join(once(rw.Read()), once(rw.Write())) }},
		{"semaphore", func() error { return trySemaphore(ctx, c.client, name+":sem") }},
		{"counting", func() error { return tryCounting(ctx, c.client, name+":count") }},
		{"latch", func() error { return tryLatch(ctx, c.client, name+":latch") }},
	} {
		f := rlock.Finding{Name: kind.name, Text: "works"}
		if err := kind.try(); err != nil {
			f.Level, f.Text = rlock.LevelFailure, fmt.Sprintf("a trial failed: %v", err)
		}
		found = append(found, f)
	}
	for _, suffix := range []string{":fair", ":rw"} { // their tokens, which would stay for days
		_ = c.redis.Del(ctx, "redisson_lock_token:{"+g.names()+name+suffix+"}").Err()
	}
	return found
}

func trySemaphore(ctx context.Context, client *rlock.Client, name string) error {
	s := semaphore.New(client, name)
	err := s.SetCapacity(ctx, 1)
	if err == nil {
		err = s.Do(ctx, 1, func(context.Context) error { return nil })
		err = errors.Join(err, s.Delete(ctx))
	}
	return err
}

func tryCounting(ctx context.Context, client *rlock.Client, name string) error {
	s := semaphore.NewCounting(client, name)
	err := s.Set(ctx, 1)
	if err == nil {
		err = errors.Join(s.TryAcquire(ctx, 1), s.Delete(ctx))
	}
	return err
}

func tryLatch(ctx context.Context, client *rlock.Client, name string) error {
	l := latch.New(client, name)
	err := l.Set(ctx, 1)
	if err == nil {
		err = errors.Join(l.CountDown(ctx), l.Wait(ctx), l.Delete(ctx))
	}
	return err
}
