package cli

import (
	"slices"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"github.com/stretchr/testify/require"
)

// Whatever stands in a command line: it is a mistake, which is told as one, or the command is run. No command does
// anything here.
func FuzzCommandLine(f *testing.F) {
	for _, seed := range []string{
		"", "help", "run nightly -- ./report --all", "run -n --kind sem:3 printers -- lpr x", "list --match a*", "inspect a",
		"--lease 5m --prefix p: break a --id b", "-o json watch a", "--lease -1s list", "run  --", "--min-replicas 9999999999 list",
		"--cluster a,b --sentinel c --master m list", "--= list", "-o=\x00 list", "leaks \xff", "--redis", "doctor --help",
	} {
		f.Add(seed)
	}
	f.Fuzz(func(t *testing.T, line string) {
		var printed strings.Builder
		root := newRoot(&printed, &printed)
		idle(root)
		root.SetArgs(strings.Split(line, " "))
		err := root.Execute()
		if err != nil {
			complain(&printed, err)
			require.NotEmpty(t, printed.String(), "%q", line)
		}
		require.Contains(t, []int{0, exitUsage}, exitCode(err), "%q: %v", line, err)
	})
}

// idle keeps the commands below one from doing anything, but for help and the completion of shells, which only print.
func idle(cmd *cobra.Command) {
	for _, sub := range cmd.Commands() {
		idle(sub)
		if slices.Contains([]string{"help", "completion"}, sub.Name()) {
			continue
		}
		sub.RunE = func(*cobra.Command, []string) error { return nil }
	}
}
