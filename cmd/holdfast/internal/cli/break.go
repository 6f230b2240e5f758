package cli

import (
	"context"
	"errors"
	"fmt"
	"io"

	"github.com/spf13/cobra"

	"github.com/holdfast-go/holdfast/fairlock"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/rwlock"
	"github.com/holdfast-go/holdfast/semaphore"
)

// broken is the result of break.
type broken struct {
	Name    name   `json:"name"`
	Holders []name `json:"holders"` // whose holds were taken
}

func newBreak(g *globals) *cobra.Command {
	var id string
	cmd := &cobra.Command{
		Use:   "break NAME",
		Short: "Take a lock from its holder",
		Long: `Take a lock from its holder, and wake the next waiter. The holder learns of it with its next
renewal, a third of its lease later at most, and may go on working until then: only fencing tokens
stop its writes. Stop the holder first if you can.

Of a read-write lock or a semaphore, --id takes the hold of one holder; a semaphore needs it. If
nobody holds the lock, the exit code is 1.`,
		Example: `  holdfast break order:1001
  holdfast break printers --id 8743c9c0-0795-4907-87fd-6c719a6b4586:1f`,
		Args:              cobra.ExactArgs(1),
		ValidArgsFunction: g.completeNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			return g.with(func(c *connection) error {
				entry, err := find(cmd.Context(), c.client, args[0])
				if err != nil {
					return err
				}
				if err := breakLock(cmd.Context(), c.client, entry, id); err != nil {
					return err
				}
				result := broken{Name: name(entry.Name), Holders: []name{}}
				for _, h := range entry.Holders {
					if id == "" || id == h.ID {
						result.Holders = append(result.Holders, name(h.ID))
					}
				}
				return g.print(cmd.OutOrStdout(), result, func(to io.Writer) error {
					for _, holder := range result.Holders {
						_, _ = fmt.Fprintf(to, "took %s from %s\n", shown(string(result.Name)), shown(string(holder)))
					}
					return nil
				})
			})
		},
	}
	cmd.Flags().StringVar(&id, "id", "", "`id` of the hold, as inspect tells it")
	return cmd
}

// breakLock breaks a lock of any kind.
func breakLock(ctx context.Context, client *rlock.Client, e rlock.Entry, id string) error {
	var lock *rlock.Lock
	switch {
	case e.Held == 0:
		return codeError{exitFailed, fmt.Errorf("nobody holds %q", e.Name)}
	case e.Kind == rlock.KindSemaphore && id == "":
		return usageError{errors.New("a semaphore has several holders: say which by --id")}
	case e.Kind == rlock.KindSemaphore:
		return semaphore.New(client, e.Name).Break(ctx, id)
	case e.Kind == rlock.KindReadWrite && e.Mode == "write":
		lock = rwlock.New(client, e.Name).Write()
	case e.Kind == rlock.KindReadWrite:
		lock = rwlock.New(client, e.Name).Read()
	case e.Kind == rlock.KindFair:
		lock = fairlock.New(client, e.Name)
	default:
		lock = rlock.New(client, e.Name)
	}
	if id != "" {
		return lock.BreakOne(ctx, id)
	}
	return lock.Break(ctx)
}
