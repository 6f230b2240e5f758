package cli

import (
	"fmt"
	"io"
	"strings"
	"text/tabwriter"

	"github.com/spf13/cobra"

	"github.com/holdfast-go/holdfast/operate"
)

// leakView is a leak as leaks tells it.
type leakView struct {
	Key     name   `json:"key"`
	Name    name   `json:"name,omitempty"`
	What    string `json:"what"`
	Holders []name `json:"holders,omitempty"`
	Freed   bool   `json:"freed"`
}

func newLeaks(g *globals) *cobra.Command {
	var match string
	var fix bool
	cmd := &cobra.Command{
		Use:   "leaks",
		Short: "Find keys of locks that should expire and never will",
		Long: `Find keys of holdfast's and Redisson's locks that should expire and never will: such a lock is held
for ever. --fix deletes them, and wakes the waiters. Capacities, counts, permits without a lease and
Java's tokens have no expiry by design, and are not among them.

The exit code is 1 if leaks were found and not fixed.`,
		Example: `  holdfast leaks
  holdfast leaks --match 'order:*' --fix`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			return g.with(func(c *connection) error { return g.leaks(cmd, c, match, fix) })
		},
	}
	cmd.Flags().StringVar(&match, "match", "*", "`pattern` of the names, as Redis's SCAN has it")
	cmd.Flags().BoolVar(&fix, "fix", false, "delete them")
	return cmd
}

func (g *globals) leaks(cmd *cobra.Command, c *connection, match string, fix bool) error {
	found, left := []leakView{}, 0
	for leak, err := range operate.Leaks(cmd.Context(), c.client, match) {
		if err != nil {
			return err
		}
		view := leakView{Key: name(leak.Key), Name: name(leak.Name), What: leak.What}
		for _, id := range leak.Holders {
			view.Holders = append(view.Holders, name(id))
		}
		if fix {
			if view.Freed, err = operate.Free(cmd.Context(), c.client, leak); err != nil {
				return err
			}
		}
		if !view.Freed {
			left++
		}
		found = append(found, view)
	}
	err := g.print(cmd.OutOrStdout(), found, func(to io.Writer) error { return tableOfLeaks(to, found) })
	if err == nil && left > 0 {
		return codeError{code: exitFailed}
	}
	return err
}

func tableOfLeaks(to io.Writer, found []leakView) error {
	if len(found) == 0 {
		_, err := fmt.Fprintln(to, "no leaks")
		return err
	}
	w := tabwriter.NewWriter(to, 0, 0, 2, ' ', 0)
	for _, v := range found {
		state := "found"
		if v.Freed {
			state = "freed"
		}
		holders := make([]string, len(v.Holders))
		for i, id := range v.Holders {
			holders[i] = shown(string(id))
		}
		_, _ = fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", state, shown(string(v.Key)), v.What, strings.Join(holders, " "))
	}
	return w.Flush()
}
