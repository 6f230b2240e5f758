package cli

import (
	"context"
	"fmt"
	"io"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-go/holdfast/operate"
	"github.com/holdfast-go/holdfast/rlock"
)

func newInspect(g *globals) *cobra.Command {
	return &cobra.Command{
		Use:   "inspect NAME",
		Short: "Tell who holds a lock and how many wait",
		Long: `Tell who holds a lock, of whatever kind, for how long, and how many wait. If Redis knows nothing of
the name, the exit code is 1.`,
		Example: `  holdfast inspect order:1001
  holdfast inspect -o json order:1001`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: g.completeNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.with(func(c *connection) error {
				entry, err := find(cmd.Context(), c.client, args[0])
				if err != nil {
					return err
				}
				view := newView(entry, time.Now())
				return g.print(cmd.OutOrStdout(), view, view.describe)
			})
		},
	}
}

// find looks up one name.
func find(ctx context.Context, client *rlock.Client, name string) (rlock.Entry, error) {
	for entry, err := range operate.List(ctx, client, operate.Quote(name)) {
		return entry, err
	}
	return rlock.Entry{}, codeError{exitFailed, fmt.Errorf("no lock %q in Redis", name)}
}

// counts is what the number of a lock counts.
func (v *lockView) counts() string {
	switch v.Kind {
	case rlock.KindSemaphore, rlock.KindCounting:
		return "free"
	case rlock.KindLatch:
		return "count"
	}
	return "number" // Redis does not say which of the two it is
}

// describe writes all that is known of a lock.
func (v *lockView) describe(to io.Writer) error {
	say := func(what, format string, args ...any) {
		_, _ = fmt.Fprintf(to, "%-9s %s\n", what+":", fmt.Sprintf(format, args...))
	}
	say("name", "%s", shown(string(v.Name)))
	say("kind", "%s", v.kindText())
	if v.NoCapacity {
		say("capacity", "never set")
	}
	if v.Number != nil {
		say(v.counts(), "%d", *v.Number)
	}
	if v.Fence != 0 {
		say("fence", "%d", v.Fence)
	}
	if v.Since != nil {
		say("held for", "%s, since %s", v.heldFor(), v.Since.Format(time.RFC3339))
	}
	say("waiters", "%s", v.waiting())
	say("holders", "%d", v.Held)
	for _, h := range v.Holders {
		life := "never expires"
		if h.TTL != nil {
			life = "expires in " + brief(time.Duration(*h.TTL*float64(time.Second))) + " unless renewed"
		}
		_, _ = fmt.Fprintf(to, "  %s  count %d, %s", shown(string(h.ID)), h.Count, life)
		if h.Owner != "" {
			_, _ = fmt.Fprintf(to, "  (%s)", shown(h.Owner))
		}
		if h.Kept {
			_, _ = fmt.Fprint(to, ", kept: may be idle")
		}
		_, _ = fmt.Fprintln(to)
	}
	if v.Truncated {
		_, _ = fmt.Fprintln(to, "  and more")
	}
	return nil
}
