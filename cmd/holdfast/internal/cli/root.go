package cli

import (
	"errors"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/redis/go-redis/v9/logging"
	"github.com/spf13/cobra"

	"github.com/holdfast-go/holdfast/internal/legible"
)

// Main runs the command line args, of which the first is the program's own name, and returns the exit code.
func Main(args []string) int {
	if code, is := supervise(args); is {
		return code
	}
	logging.Disable() // go-redis would log each failed dial to standard error, beside our one sentence
	root := newRoot(os.Stdout, os.Stderr)
	root.SetArgs(args[1:])
	err := root.Execute()
	if err != nil {
		complain(os.Stderr, err)
	}
	return exitCode(err)
}

// complain prints an error, if it has a text: some only carry an exit code.
func complain(to io.Writer, err error) {
	if text := oneLine(err.Error()); text != "" {
		_, _ = fmt.Fprintln(to, "holdfast:", text)
	}
}

// oneLine is an error's text without the line breaks between joined errors, and without the name of the module, which
// errors of the library begin with: it is the program's too.
func oneLine(text string) string {
	return strings.ReplaceAll(strings.TrimPrefix(text, "holdfast: "), "\n", "; ")
}

// globals are the flags that all commands share.
type globals struct {
	url      string
	cluster  []string
	sentinel []string
	master   string

	sentinelUser, sentinelPassword string

	tls      tlsFlags
	lease    time.Duration
	replicas int
	fsync    bool
	prefix   string
	output   string
}

const rootExample = `  holdfast run nightly -- ./report --all
  holdfast run -n --kind sem:3 printers -- lpr invoice.pdf
  REDIS_URL=redis://user:secret@redis.example.com:6379/0 holdfast run deploy -- make deploy`

// newRoot makes the root command with everything below it.
func newRoot(out, errOut io.Writer) *cobra.Command {
	g := &globals{}
	root := &cobra.Command{
		Use:     "holdfast",
		Version: version(),
		Short:   "Distributed locks on Redis, for programs in any language",
		Long:    "holdfast runs programs under distributed locks on Redis, and looks after such locks.",
		Example: rootExample,
		// Main prints errors, once, and usage only where it was asked for.
		SilenceErrors: true,
		SilenceUsage:  true,
		Args:          cobra.NoArgs,
		RunE:          func(cmd *cobra.Command, _ []string) error { return cmd.Help() },
	}
	root.SetVersionTemplate("{{.Name}} {{.Version}}\n")
	root.SetOut(out)
	root.SetErr(errOut)
	root.SetFlagErrorFunc(func(_ *cobra.Command, err error) error { return usageError{err} })
	g.addFlags(root)
	root.AddCommand(newRun(g), newList(g), newInspect(g), newWatch(g), newBreak(g), newLeaks(g), newDoctor(g))
	argumentsAreUsage(root)
	return root
}

// argumentsAreUsage makes wrong numbers of arguments errors of usage, of every command that declares its Args. So is an
// empty NAME, which is the first argument of each command that has arguments: it is a variable of the shell that nobody
// has set. A NAME that is quoted as list prints it becomes the name.
func argumentsAreUsage(cmd *cobra.Command) {
	if check := cmd.Args; check != nil {
		cmd.Args = func(cmd *cobra.Command, args []string) error {
			err := check(cmd, args)
			switch {
			case err != nil && cmd.HasParent():
				err = fmt.Errorf("wrong arguments: the command is %s", cmd.UseLine())
			case err == nil && len(args) > 0 && args[0] == "":
				err = errors.New("NAME must not be empty")
			case err == nil && len(args) > 0:
				if args[0], err = legible.Parse(args[0]); err != nil {
					err = fmt.Errorf("NAME %w", err)
				}
			}
			if err != nil {
				return usageError{fmt.Errorf("%w; see %s --help", err, cmd.CommandPath())}
			}
			return nil
		}
	}
	for _, sub := range cmd.Commands() {
		argumentsAreUsage(sub)
	}
}

func (g *globals) addFlags(root *cobra.Command) {
	f := root.PersistentFlags()
	f.StringVar(&g.url, "redis", "", "`URL` of the server: redis://user:password@host:port/db, rediss:// for TLS,\n"+
		"unix:///path, or host:port (default $REDIS_URL, or else redis://localhost:6379)")
	f.StringSliceVar(&g.cluster, "cluster", nil, "`addresses` of some nodes of a Redis Cluster, host:port,...;\n"+
		"user, password and TLS are the URL's")
	f.StringSliceVar(&g.sentinel, "sentinel", nil, "`addresses` of Sentinels, host:port,...; needs --master")
	f.StringVar(&g.master, "master", "", "`name` of the primary that the Sentinels watch")
	f.StringVar(&g.sentinelUser, "sentinel-user", "",
		"`name` of the user at the Sentinels (default $HOLDFAST_SENTINEL_USER)")
	f.StringVar(&g.sentinelPassword, "sentinel-password", "", "`password` at the Sentinels; ps shows it, so set\n"+
		"$HOLDFAST_SENTINEL_PASSWORD, which is the default")
	g.tls.add(f)
	f.DurationVar(&g.lease, "lease", 0, "how long Redis keeps a hold that nobody renews; others wait as long\n"+
		"after a crash (default 30s, at least 100ms)")
	f.IntVar(&g.replicas, "min-replicas", 0, "`number` of replicas that must confirm each acquisition and\n"+
		"renewal, as ClientOptions.MinReplicas: as many as can be promoted")
	f.BoolVar(&g.fsync, "fsync", false, "wait until each acquisition and renewal is on disk, as\n"+
		"ClientOptions.Fsync")
	f.StringVar(&g.prefix, "prefix", "", "`text` that stands before each NAME in its Redis key, as\n"+
		"ClientOptions.Prefix of the programs that use the same locks\n"+
		"(default $HOLDFAST_PREFIX, or else none)")
	f.StringVarP(&g.output, "output", "o", text, "`format` of results: text or json")
	formats := cobra.FixedCompletions([]string{text, asJSON}, cobra.ShellCompDirectiveNoFileComp)
	// It fails only for a flag that does not exist.
	_ = root.RegisterFlagCompletionFunc("output", formats)
	root.PersistentPreRunE = func(cmd *cobra.Command, _ []string) error { return errors.Join(g.check(), named(cmd)) }
}

// named refuses a flag that is there, says which locks or holds are meant, and is empty: left away it means others. A
// name and an id can be quoted as list prints them.
func named(cmd *cobra.Command) error {
	for _, flag := range []string{"match", "name", "id", "prefix"} {
		f := cmd.Flags().Lookup(flag)
		if f == nil || !f.Changed {
			continue
		}
		text, err := f.Value.String(), error(nil)
		if flag == "name" || flag == "id" {
			text, err = legible.Parse(text)
			err = errors.Join(err, f.Value.Set(text))
		}
		switch {
		case err != nil:
			return usageError{fmt.Errorf("--%s %w", flag, err)}
		case text == "":
			return usageError{fmt.Errorf("--%s must not be empty", flag)}
		}
	}
	return nil
}

// maxPrefix leaves room for a name.
const maxPrefix = 1023

// names is the prefix of all names.
func (g *globals) names() string {
	if g.prefix != "" {
		return g.prefix
	}
	return os.Getenv("HOLDFAST_PREFIX")
}

// check refuses bad values before anything is sent.
func (g *globals) check() error {
	if err := errors.Join(addresses("cluster", g.cluster), addresses("sentinel", g.sentinel)); err != nil {
		return err
	}
	switch {
	case g.output != text && g.output != asJSON:
		return usageError{fmt.Errorf("--output must be %s or %s, not %q", text, asJSON, g.output)}
	case len(g.cluster) > 0 && len(g.sentinel) > 0:
		return usageError{errors.New("--cluster and --sentinel exclude each other")}
	case (len(g.sentinel) == 0) != (g.master == ""):
		return usageError{errors.New("--sentinel and --master need each other")}
	case len(g.sentinel) == 0 && g.sentinelUser+g.sentinelPassword != "":
		return usageError{errors.New("--sentinel-user and --sentinel-password need --sentinel")}
	case g.replicas < 0:
		return usageError{fmt.Errorf("--min-replicas must not be negative, as %d is", g.replicas)}
	case len(g.names()) > maxPrefix:
		return usageError{fmt.Errorf("--prefix or HOLDFAST_PREFIX must be at most %d bytes long, not %d",
			maxPrefix, len(g.names()))}
	}
	return nil
}
