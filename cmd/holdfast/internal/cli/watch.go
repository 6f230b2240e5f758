package cli

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"os/signal"
	"slices"
	"strings"
	"syscall"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"github.com/holdfast-go/holdfast/operate"
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
another, and with -o json one array to a line. Each table is a list command of its own.

If Redis stops answering, watch says so and goes on: above the last table, or on standard error. If it
does not answer the first time, watch ends.`,
		Example: `  holdfast watch
  holdfast watch order:1001
  holdfast watch --match 'order:*' --interval 10s -o json >> locks.jsonl`,
		Args:              cobra.MaximumNArgs(1),
		ValidArgsFunction: g.completeNames,
		RunE: func(cmd *cobra.Command, args []string) error {
			if len(args) > 0 && cmd.Flags().Changed("match") {
				return usageError{errors.New("NAME and --match exclude each other")}
			}
			if len(args) > 0 {
				f.match = operate.Quote(args[0])
			}
			if f.interval < 100*time.Millisecond {
				return usageError{errors.New("--interval must be at least 100ms")}
			}
			ctx, stop := signal.NotifyContext(cmd.Context(), os.Interrupt, syscall.SIGTERM)
			defer stop()
			return g.with(func(c *connection) error {
				return g.watch(ctx, cmd.OutOrStdout(), cmd.ErrOrStderr(), c, f)
			})
		},
	}
	cmd.Flags().StringVar(&f.match, "match", "*", "`pattern` of the names, as Redis's SCAN has it")
	cmd.Flags().DurationVar(&f.interval, "interval", time.Second, "`time` between two tables")
	cmd.Flags().IntVar(&f.count, "count", 0, "end after this `number` of tables, or errors in their place\n"+
		"(default never)")
	return cmd
}

// watch draws tables until ctx ends, which is how it is meant to end. Then a table that nobody reads may be under way,
// as when a pager is at its first page: it is not waited for, and ends with the process.
func (g *globals) watch(ctx context.Context, out, errOut io.Writer, c *connection, f *watchFlags) error {
	ended := make(chan error, 1)
	go func() { ended <- g.tables(ctx, out, errOut, c, f) }()
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

// tables draws until ctx ends. A Redis that never answered is most likely not the one that was meant, so that ends it;
// an error of a later look is shown, and the next look may succeed.
func (g *globals) tables(
	ctx context.Context, out, errOut io.Writer, c *connection, f *watchFlags,
) (err error) {
	draw, end := g.drawer(out, errOut)
	defer func() { err = errors.Join(err, end()) }()
	ticker := time.NewTicker(f.interval)
	defer ticker.Stop()
	for n := 1; ; n++ {
		locks, _, err := collect(ctx, c.client, &f.listFlags)
		if ctx.Err() != nil {
			return nil
		}
		if err != nil && (n == 1 || n == f.count) {
			return err
		}
		if err := draw(locks, c.hinted(err)); err != nil || n == f.count {
			return err
		}
		select {
		case <-ctx.Done():
			return nil
		case <-ticker.C:
		}
	}
}

// drawer is how the results of looks are written, and what is to be written at the end. An error goes to errOut: the
// reader of out parses tables. It is repeated only after a while.
func (g *globals) drawer(out, errOut io.Writer) (draw func(locks []lockView, failed error) error, end func() error) {
	if file, ok := out.(*os.File); ok && g.output != asJSON && term.IsTerminal(int(file.Fd())) {
		return onTerminal(file)
	}
	var told time.Time // when an error was
	return func(locks []lockView, failed error) error {
		if failed != nil {
			if time.Since(told) >= nextWord {
				told = time.Now()
				complain(errOut, failed)
			}
			return nil
		}
		told = time.Time{}
		if g.output == asJSON {
			return writeLine(out, locks)
		}
		_, err := fmt.Fprintf(out, "%s  %s\n", time.Now().Format(time.RFC3339), counted(len(locks)))
		if err == nil {
			err = table(out, locks)
		}
		if err == nil {
			_, err = fmt.Fprintln(out)
		}
		return err
	}, func() error { return nil }
}

// onTerminal draws over the screen. An error stands above the last table, which has its own time. What follows the
// last drawing, such as a prompt, begins a line.
func onTerminal(file *os.File) (draw func(locks []lockView, failed error) error, end func() error) {
	var last []lockView
	var at time.Time
	return func(locks []lockView, failed error) error {
			width, height, err := term.GetSize(int(file.Fd())) // each time, because it may have changed
			if err != nil {
				width, height = 80, 24
			}
			if failed == nil {
				last, at = locks, time.Now()
			}
			_, err = io.WriteString(file, screen(last, at, failed, width, height))
			return err
		}, func() error {
			if at.IsZero() {
				return nil
			}
			_, err := io.WriteString(file, "\r\n")
			return err
		}
}

// counted is a number of locks in words.
func counted(n int) string {
	if n == 1 {
		return "1 lock"
	}
	return fmt.Sprintf("%d locks", n)
}

// screen is a table that replaces what a terminal of that size shows. Each line is overwritten and then cleared to its
// end, rather than the screen cleared first, which would flicker. If a look has failed since, its error stands above
// the table.
func screen(locks []lockView, at time.Time, failed error, width, height int) string {
	var text bytes.Buffer
	if failed != nil {
		whole := []rune(time.Now().Format(time.TimeOnly) + "  " + oneLine(failed.Error()))
		for line := range slices.Chunk(whole, max(width, 1)) {
			_, _ = fmt.Fprintln(&text, string(line))
		}
	}
	_, _ = fmt.Fprintf(&text, "%s  %s\n", at.Format(time.TimeOnly), counted(len(locks)))
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
