package cli

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"github.com/holdfast-go/holdfast/internal/legible"
	"github.com/holdfast-go/holdfast/operate"
	"github.com/holdfast-go/holdfast/rlock"
)

// kinds are what --kind takes.
var kinds = []string{"rlock", "fair", "rwlock", "read", "write", "semaphore", "counting", "latch", "number", "unknown"}

type listFlags struct {
	match string
	kinds []string
	older time.Duration
	all   bool
}

func newList(g *globals) *cobra.Command {
	f := &listFlags{}
	cmd := &cobra.Command{
		Use:   "list",
		Short: "List the locks that are held or waited for",
		Long: `List the locks that are held or waited for: holdfast's and Redisson's, of every kind. It walks the
database some hundred keys at a time and does not hold Redis up.

HELD FOR is known of locks that one holder has and that holdfast took. Redis does not know it of other
holds, such as those of readers, of permits and of Java's locks: --older leaves them out, and says on
standard error how many they are.`,
		Example: `  holdfast list
  holdfast list --match 'order:*' --kind rlock,fair
  holdfast list --older 1h -o json | jq -r '.[].name'`,
		Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error { return g.list(cmd, f) },
	}
	cmd.Flags().StringVar(&f.match, "match", "*", "`pattern` of the names, as Redis's SCAN has it")
	cmd.Flags().StringSliceVar(&f.kinds, "kind", nil, "`kinds` of locks: "+strings.Join(kinds, ", "))
	cmd.Flags().DurationVar(&f.older, "older", 0, "only locks that have been held at least for this `time`")
	cmd.Flags().BoolVar(&f.all, "all", false, "also names that are free and were locked within the last days")
	// It fails only for a flag that does not exist.
	_ = cmd.RegisterFlagCompletionFunc("kind", cobra.FixedCompletions(kinds, cobra.ShellCompDirectiveNoFileComp))
	return cmd
}

func (g *globals) list(cmd *cobra.Command, f *listFlags) error {
	for _, kind := range f.kinds {
		if !slices.Contains(kinds, kind) {
			return usageError{fmt.Errorf("--kind must be of %s, not %q", strings.Join(kinds, ", "), kind)}
		}
	}
	return g.with(func(c *connection) error {
		locks, unknown, err := collect(cmd.Context(), c.client, f)
		if err != nil {
			return err
		}
		if unknown > 0 {
			_, _ = fmt.Fprintf(cmd.ErrOrStderr(), "holdfast: left out %s: Redis does not know since when\n",
				counted(unknown))
		}
		return g.print(cmd.OutOrStdout(), locks, func(to io.Writer) error { return table(to, locks) })
	})
}

// collect lists what the flags ask for, by name, and counts the locks of which --older cannot tell.
func collect(ctx context.Context, client *rlock.Client, f *listFlags) (locks []lockView, unknown int, err error) {
	now := time.Now()
	locks = []lockView{} // not null in JSON
	for entry, err := range operate.List(ctx, client, f.match) {
		if err != nil {
			return nil, 0, err
		}
		if !f.wants(entry) {
			continue
		}
		held, known := age(entry, now)
		switch {
		case f.older > 0 && !known:
			if entry.Held > 0 {
				unknown++
			}
		case held >= f.older:
			locks = append(locks, newView(entry, now))
		}
	}
	slices.SortFunc(locks, func(a, b lockView) int { return cmp.Compare(a.Name, b.Name) })
	return locks, unknown, nil
}

func (f *listFlags) wants(e rlock.Entry) bool {
	if e.Free() && e.Kind == rlock.KindUnknown && !f.all {
		return false
	}
	return len(f.kinds) == 0 || slices.Contains(f.kinds, string(e.Kind)) ||
		e.Mode != "" && slices.Contains(f.kinds, e.Mode)
}

// with opens the connection for fn, and closes it.
func (g *globals) with(fn func(c *connection) error) (err error) {
	c, err := g.connect("")
	if err != nil {
		return err
	}
	defer func() { err = errors.Join(err, c.close()) }()
	return c.hinted(fn(c))
}

// completeNames completes names of locks. A shell waits for it, so it gives up soon.
func (g *globals) completeNames(cmd *cobra.Command, args []string, begun string) ([]string, cobra.ShellCompDirective) {
	var names []string
	if len(args) > 0 || g.check() != nil {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	_ = g.with(func(c *connection) error {
		ctx, cancel := context.WithTimeout(cmd.Context(), time.Second)
		defer cancel()
		for entry, err := range operate.List(ctx, c.client, operate.Quote(begun)+"*") {
			if err != nil || len(names) == 100 {
				break
			}
			if !entry.Free() {
				names = append(names, legible.Name(entry.Name))
			}
		}
		return nil
	})
	return names, cobra.ShellCompDirectiveNoFileComp
}
