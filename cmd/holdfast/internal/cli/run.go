package cli

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
)

// runFlags are the flags of run.
type runFlags struct {
	*globals
	noWait  bool
	wait    time.Duration
	busy    int
	kind    string
	minHold time.Duration
	grace   time.Duration
	leave   bool
	quiet   bool
	join    bool

	waits, minHolds, graces bool // -w, --min-hold and --grace were given
}

const runExample = `  # one at a time; a second one waits
  holdfast run deploy -- make deploy
  # a cron job on many machines, done by one of them, though their clocks differ by up to a minute
  holdfast run -n --min-hold 1m nightly -- ./report --all
  # wait for a minute, and exit with 1 if the lock is busy even then, as flock does
  holdfast run -w 1m -E 1 migrate -- ./migrate up
  # at most three at a time
  holdfast run --kind sem:3 printers -- lpr invoice.pdf
  # a shell, where one is wanted
  holdfast run deploy -- sh -c 'echo "token $HOLDFAST_FENCE"; ./push | tee push.log'`

const runLong = `Run takes the lock NAME, runs the command, and releases the lock when the command and everything that
it started have ended. The command never outlives the hold: if the lock cannot be renewed, everything gets SIGTERM
when less than --grace of its validity is left, and SIGKILL before its end.

Standard input and output are the command's. Run passes signals on to its process group. The command finds the lock's
name in its environment as HOLDFAST_NAME, the id of the hold as HOLDFAST_ID, and the fencing token as HOLDFAST_FENCE.
HOLDFAST_HOLDS is for a run within this one. If a run around it holds its lock, the inner run ends as if the lock were
busy; with --join it runs its command under that hold.

If run has to wait it says on standard error what for: after a second, and then every half minute.

Exit codes: the command's, or 128+N if signal N ended it; 64 a mistake in the command line; 65 something else is at
the lock's key; 69 Redis does not answer; 70 the supervisor was killed; 71 the system lacks what run needs; 74 the hold
was lost and the command ended; 75 (or -E) the lock is busy; 77 Redis denies access; 126 the command cannot be executed;
127 there is no such command.`

func newRun(g *globals) *cobra.Command {
	f := &runFlags{globals: g}
	cmd := &cobra.Command{
		Use:     "run [flags] NAME -- COMMAND [ARG...]",
		Short:   "Run a command under a lock",
		Long:    runLong,
		Example: runExample,
		Args:    cobra.MinimumNArgs(2),
		RunE: func(cmd *cobra.Command, args []string) error {
			f.waits, f.graces = cmd.Flags().Changed("wait"), cmd.Flags().Changed("grace")
			f.minHolds = cmd.Flags().Changed("min-hold")
			if args[1] == "--" {
				args = append(args[:1], args[2:]...)
			}
			switch {
			case len(args) < 2:
				return usageError{errors.New("there is no command; see holdfast run --help")}
			case strings.ContainsRune(args[0], 0):
				return usageError{errors.New("NAME must have no zero byte: HOLDFAST_NAME cannot have one")}
			}
			return f.run(cmd.Context(), args[0], args[1:])
		},
	}
	flags := cmd.Flags()
	flags.SetInterspersed(false) // what follows the name is the command's, flags too
	flags.BoolVarP(&f.noWait, "no-wait", "n", false, "do not wait if the lock is busy")
	flags.DurationVarP(&f.wait, "wait", "w", 0, "wait this long at most (default as long as it takes)")
	flags.IntVarP(&f.busy, "conflict-exit-code", "E", exitBusy, "the exit `code` if the lock is busy")
	flags.StringVar(&f.kind, "kind", "rlock", "the `kind` of lock: rlock, fair, read, write, or sem:N for N at a time")
	flags.DurationVar(&f.minHold, "min-hold", 0, "retain the lock for this `time` from its acquisition, however\n"+
		"early the command ends; for --kind rlock")
	flags.DurationVar(&f.grace, "grace", 0, "how long before the end of validity the command gets SIGTERM,\n"+
		"and how long its background processes have to end\n(default 5s, or a third of a short lease)")
	flags.BoolVar(&f.leave, "leave-background", false, "let background processes of the command continue,\n"+
		"without the lock")
	flags.BoolVar(&f.join, "join", false, "if a run around this one holds the lock, run the command under that hold")
	flags.BoolVarP(&f.quiet, "quiet", "q", false, "do not say what run waits for")
	kinds := cobra.FixedCompletions([]string{"rlock", "fair", "read", "write", "sem:"}, cobra.ShellCompDirectiveNoSpace)
	_ = cmd.RegisterFlagCompletionFunc("kind", kinds) // it fails only for a flag that does not exist
	return cmd
}

const defaultLease = 30 * time.Second

// times are what the lease and the grace come to.
type times struct{ lease, grace, reserve, look time.Duration }

// plan checks the flags. A renewal comes each third of a lease; with a grace of half of it, one that is late ends no
// command.
func (f *runFlags) plan() (times, error) {
	t := times{lease: f.lease, grace: f.grace}
	if t.lease == 0 {
		t.lease = defaultLease
	}
	if !f.graces {
		t.grace = min(5*time.Second, t.lease/3)
	}
	t.reserve = min(t.lease/10, time.Second)
	t.look = t.lease / 20
	switch {
	case t.grace < 0 || t.grace > t.lease/2:
		return t, usageError{fmt.Errorf("--grace must be half of the lease (%v) at most, not %v", t.lease, t.grace)}
	case f.busy < 0 || f.busy > 255:
		return t, usageError{fmt.Errorf("-E must be from 0 to 255, not %d", f.busy)}
	case f.waits && f.noWait:
		return t, usageError{errors.New("-n and -w exclude each other")}
	case f.waits && f.wait <= 0:
		return t, usageError{fmt.Errorf("-w must be positive, not %v; -n does not wait", f.wait)}
	case f.minHolds && f.minHold < time.Millisecond:
		return t, usageError{fmt.Errorf("--min-hold must be at least 1ms, not %v", f.minHold)}
	case f.minHolds && f.join:
		return t, usageError{errors.New("--join and --min-hold exclude each other: the hold is the outer run's")}
	case f.minHolds && f.kind != "rlock":
		return t, usageError{fmt.Errorf("--min-hold is for --kind rlock, not %s", f.kind)}
	}
	return t, nil
}

// permits is N of sem:N, 0 for another kind.
func (f *runFlags) permits() (int64, error) {
	number, is := strings.CutPrefix(f.kind, "sem:")
	if !is {
		return 0, nil
	}
	n, err := strconv.ParseInt(number, 10, 64)
	if err != nil || n < 1 {
		return 0, usageError{fmt.Errorf("--kind sem:N needs a positive number, not %q", number)}
	}
	return n, nil
}
