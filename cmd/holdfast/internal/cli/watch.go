package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/holdfast-go/holdfast/rlock"
)

type watchFlags struct {
	listFlags
	interval time.Duration
	count    int
}

func newWatch(g *globals) *cobra.Command {
	f := &watchFlags{}
	cmd := &cobra.Command{
		Use:   "watch [NAME]",
		Short: "Show locks as they change",
		Long: `Show the locks that are held or waited for, or one of them, in a table that is drawn again every
interval. On a terminal it fills the screen; into a pipe or a file it writes one table after
another, and with -o json one array to a line. Each table is a list command of its own.`,
		Example: `  holdfast watch
  holdfast watch order:1001
  holdfast watch --match 'order:*' --interval 10s -o json >> locks.jsonl`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: g.completeNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 {
				f.match = rlock.Quote(args[0])
			}
			if f.interval < 100*time.Millisecond {
				return usageError{errors.New("--interval must be at least 100ms")}
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return g.with(func(c *connection) error { return g.watch(ctx, cmd.OutOrStdout(), c.client, f) })
		},
	}
	cmd.Flags().StringVar(&f.match, "match", "*", "`pattern` of the names, as Redis's SCAN has it")
	cmd.Flags().DurationVar(&f.interval, "interval", time.Second, "`time` between two tables")
	cmd.Flags().IntVar(&f.count, "count", 0, "end after this `number` of tables (default never)")
	return cmd
}

// watch draws tables until ctx ends, which is how it is meant to end. Then a table that nobody reads may be under way,
// as when a pager is at its first page: it is not waited for, and ends with the process.
func (g *globals) watch(ctx context.Context, out io.Writer, client *rlock.Client, f *watchFlags) error {
	ended := make(chan error, 1)
	go func() { ended <- g.tables(ctx, out, client, f) }()
	select {
	case err := <-ended:
		return err
	case <-ctx.Done():
	}
	select {
	case err := <-ended: // most often at once
		return err
	case <-time.After(unread):
		return nil
	}
}

// unread is how long watch waits for a last table to be read.
const unread = 500 * time.Millisecond

// tables draws until ctx ends.
func (g *globals) tables(ctx context.Context, out io.Writer, client *rlock.Client, f *watchFlags) error {
	draw := g.drawer(out)
	ticker := time.NewTicker(f.interval)
	defer ticker.Stop()
	for n := 1; ; n++ {
		locks, _, err := collect(ctx, client, &f.listFlags)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil {
			return err
		}
		if err := draw(locks); err != nil || n == f.count {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// drawer is how tables are written to out.
func (g *globals) drawer(out io.Writer) func(locks []lockView) error {
	file, ok := out.(*os.File)
	switch {
	case g.output == asJSON:
		return func(locks []lockView) error { return writeLine(out, locks) }
	case ok && term.IsTerminal(int(file.Fd())):
		return func(locks []lockView) error {
			width, height, err := term.GetSize(int(file.Fd())) // each time, because it may have changed
			if err != nil {
				width, height = 80, 24
			}
			_, err = io.WriteString(out, screen(locks, time.Now(), width, height))
			return err
		}
	}
	return func(locks []lockView) error {
		_, err := fmt.Fprintf(out, "%s  %d locks\n", time.Now().Format(time.RFC3339), len(locks))
		if err == nil {
			err = table(out, locks)
		}
		if err == nil {
			_, err = fmt.Fprintln(out)
		}
		return err
	}
}

// screen is a table that replaces what a terminal of that size shows. Each line is overwritten and then cleared to its
// end, rather than the screen cleared first, which would flicker.
func screen(locks []lockView, now time.Time, width, height int) string {
	var text bytes.Buffer
	_, _ = fmt.Fprintf(&text, "%s  %d locks\n", now.Format(time.TimeOnly), len(locks))
	_ = table(&text, locks) // a buffer takes everything
	lines := strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n")
	if len(lines) > height {
		hidden := len(lines) - height + 1
		lines = append(lines[:max(height-1, 0)], fmt.Sprintf("... %d more", hidden))
	}
	for i, line := range lines {
		if runes := []rune(line); len(runes) > width {
			lines[i] = string(runes[:width])
		}
	}
	return "\x1b[H" + strings.Join(lines, "\x1b[K\r\n") + "\x1b[K\x1b[J"
}
