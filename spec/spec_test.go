package spec

import (
	"bytes"
	"flag"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"regexp"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/pages"
)

var (
	large = flag.Bool("spec.large", false, "search the large bounds instead of the small ones")
	page  = flag.String("spec.page", "", "write the table of what was searched into this page")
)

// A search is a model with its bounds. Spin must find no error in it, and one in each of its wrong variants.
type search struct {
	model string
	about string // what the bounds leave in
	small string // bounds
	large string
	wrong []string
}

func searches() []search {
	return []search{
		{
			"lock", "late, lost and doubled requests, renewals, stops, drift",
			"IDS=1 END=4", "IDS=1 END=6",
			[]string{
				"FROM_REPLY", "ALREADY_FROM_NOW", "NO_MARGIN", "NO_NOT_AFTER", "LEDGER_ONCE", "RELEASE_FIRST", "NO_END",
			},
		},
		{
			"lock", "a server that forgets, tokens, a resource that checks them",
			"TOKENS FORGETS DOUBLES=1 IDS=1 END=3", "TOKENS FORGETS DOUBLES=1 IDS=1 END=5",
			[]string{"COUNTED_TOKENS", "NO_FENCE", "STRICT"},
		},
		{
			"lock", "a network that becomes calm, and processes that died before",
			"CALM=2 IDS=1 END=8", "CALM=3 IDS=1 END=9",
			[]string{"NO_EXPIRY"},
		},
		{
			"lock", "two acquisitions of each client",
			"IDS=2 END=1 DOUBLES=1", "IDS=2 END=2 DOUBLES=1",
			[]string{"REUSED_ID END=5", "RELEASE_ANY END=5"},
		},
		{
			"kept", "no want is lost", "KEEP=2", "KEEP=8 LEASE=12",
			[]string{"TWO_STEPS", "EARLY_WANT", "IGNORES_WANT", "KEEPS_WANTED"},
		},
		{
			"kept", "wants are lost or late", "LOSES KEEP=2", "LOSES KEEP=8 LEASE=12",
			[]string{"NO_LIMIT", "NOT_OWED"},
		},
		{
			"kept", "a grant may be idle for longer than its lease", "LOSES KEEP=6", "LOSES KEEP=12",
			[]string{"RESUMES_STALE"},
		},
		{
			"fair", "three waiters that come, leave and die", "FAULTS=1", "FAULTS=4 LIFE=4 INVITES=3 LEASE=4",
			[]string{"BARGES", "LAST_IN", "CLAIMS", "NO_POLL", "ENDLESS", "NO_JUDGING", "STAYS"},
		},
		{
			"redlock", "three nodes, one of which restarts with its data or without", "LEASE=2", "LEASE=3",
			[]string{"NO_GUARD", "SHORT_GUARD", "ONE_NODE", "FROM_LAST", "REGRANTS LEASE=3", "RENEWS_ONE LEASE=3"},
		},
		{
			"etcd", "leases that end, an election, stops, late copies", "IDS=1 LEASE=2", "IDS=1 LEASE=3",
			[]string{"GOES_ON", "NO_END", "ANY_LEASE", "NO_SEAL"},
		},
		{
			"etcd", "a key that is used again, late copies", "CALM IDS=2", "CALM IDS=3",
			[]string{"BARE_RELEASE", "OWN_KEY", "NOT_FIRST", "SEAL_LATER", "BACK_EARLY"},
		},
		{
			"zookeeper", "sessions that end, a server that dies, an election, stops", "IDS=1 LEASE=2", "IDS=1 LEASE=3",
			[]string{"WRITE_PROVES LEASE=3", "PONG_PROVES LEASE=3", "NO_WRITE", "FROM_ANSWER", "NO_END"},
		},
		{
			"zookeeper", "several acquisitions, answers that are late", "CALM IDS=2", "CALM IDS=3",
			[]string{"FRESH_XIDS", "NOT_FIRST"},
		},
	}
}

// Every model is searched to the end without an error, and reaches each of its steps; every wrong variant has an error,
// with a run that leads to it.
//
//	make spec     searches the large bounds, and writes the table of docs/spec.md
func TestLongSearchOfModels(t *testing.T) {
	for _, tool := range []string{"spin", "gcc"} {
		_, err := exec.LookPath(tool)
		require.NoError(t, err, "%s is missing: scripts/setup-spin.sh installs it (Debian: apt-get install spin gcc)", tool)
	}
	var rows []string
	for _, s := range searches() {
		bounds := s.small
		if *large {
			bounds = s.large
		}
		t.Run(s.model+" "+bounds, func(t *testing.T) {
			got := run(t, s.model, bounds, "-O1")
			require.Zero(t, got.errors, "an error in the model:\n%s", got.trail)
			require.True(t, got.complete, "the search was not exhaustive:\n%s", got.output)
			rows = append(rows, fmt.Sprintf("| `%s` | %s | `%s` | %s | %.1f s | %s |", s.model, s.about, bounds,
				pages.Number(got.states), got.took.Seconds(), "`"+strings.Join(names(s.wrong), "`, `")+"`"))
			t.Logf("%s %s: %d states, %v", s.model, bounds, got.states, got.took)
		})
		for _, wrong := range s.wrong {
			t.Run(s.model+" "+wrong, func(t *testing.T) {
				// It has few states before the error: to compile it takes longer than to search it.
				got := run(t, s.model, s.small+" "+wrong, "-O0")
				require.Positive(t, got.errors, "this variant is wrong, and no error was found:\n%s", got.output)
				require.Contains(t, got.output, "assertion violated", "the error is another one")
				require.Contains(t, got.trail, "assertion violated", "no run leads to it")
			})
		}
	}
	if *page != "" && !t.Failed() {
		write(t, *page, rows)
	}
}

// names are those of the variants, without bounds.
func names(wrong []string) []string {
	all := make([]string, len(wrong))
	for i, one := range wrong {
		all[i], _, _ = strings.Cut(one, " ")
	}
	return all
}

// result is what a search came to.
type result struct {
	errors   int
	states   int
	complete bool // every state was visited, and none was mistaken for another one
	took     time.Duration
	output   string
	trail    string // the run that leads to the error
}

var (
	errorsOf = regexp.MustCompile(`errors: (\d+)`)
	statesOf = regexp.MustCompile(`(\d+) states, stored`)
)

// run searches a model. Of a bound that is given twice the last one counts, as with compilers.
func run(t *testing.T, model, bounds, optimized string) (got result) {
	t.Helper()
	source, err := filepath.Abs(model + ".pml")
	require.NoError(t, err)
	folder := t.TempDir()
	defines := definesOf(bounds)
	call(t, folder, "spin", append(defines, "-a", source)...)
	call(t, folder, "gcc", optimized, "-w", "-DSAFETY", "-DMEMLIM=6000", "-o", "pan", "pan.c")
	began := time.Now()
	got.output = call(t, folder, filepath.Join(folder, "pan"), "-m2000000")
	got.took = time.Since(began)
	got.errors, got.states = number(t, errorsOf, got.output), number(t, statesOf, got.output)
	got.complete = strings.Contains(got.output, "Full statespace search for:") &&
		!strings.Contains(got.output, "Search not completed") && !strings.Contains(got.output, "max search depth") &&
		!strings.Contains(got.output, "hash-compact") && !strings.Contains(got.output, "Bit statespace")
	if got.errors > 0 {
		trails, err := filepath.Glob(filepath.Join(folder, "*.trail"))
		require.NoError(t, err)
		require.Len(t, trails, 1)
		got.trail = call(t, folder, "spin", append(defines, "-k", trails[0], "-t", "-p", "-g", source)...)
	}
	return got
}

func definesOf(bounds string) []string {
	var order []string
	values := make(map[string]string)
	for one := range strings.FieldsSeq(bounds) {
		name, value, _ := strings.Cut(one, "=")
		if _, known := values[name]; !known {
			order = append(order, name)
		}
		values[name] = value
	}
	var all []string
	for _, name := range order {
		define := "-D" + name
		if values[name] != "" {
			define += "=" + values[name]
		}
		all = append(all, define)
	}
	return all
}

// call runs a program in a folder, and returns what it printed. A checker that finds an error ends well; spin does not
// when it has shown a run with one.
func call(t *testing.T, folder, name string, args ...string) string {
	t.Helper()
	// The checkers only compute, so they yield to the tests beside them, which have leases.
	cmd := exec.CommandContext(t.Context(), "nice", append([]string{"-n", "5", name}, args...)...)
	cmd.Dir = folder
	var out bytes.Buffer
	cmd.Stdout, cmd.Stderr = &out, &out
	err := cmd.Run()
	if !strings.Contains(strings.Join(args, " "), "-k") {
		require.NoError(t, err, "%s %v:\n%s", name, args, &out)
	}
	return out.String()
}

func number(t *testing.T, in *regexp.Regexp, output string) int {
	t.Helper()
	found := in.FindStringSubmatch(output)
	require.NotNil(t, found, "no %v in:\n%s", in, output)
	n, err := strconv.Atoi(found[1])
	require.NoError(t, err)
	return n
}

// write puts the table into the page.
func write(t *testing.T, path string, rows []string) {
	t.Helper()
	require.NoError(t, pages.Show(path, "searched", "\n| model | with | bounds | states | time | wrong variants that were caught |\n"+
		"|---|---|---|---|---|---|\n"+strings.Join(rows, "\n")+"\n"))
}

// The page names each search, and each wrong variant.
func TestPageNamesAll(t *testing.T) {
	text, err := os.ReadFile(filepath.Join("..", "docs", "spec.md"))
	require.NoError(t, err)
	for _, s := range searches() {
		require.Contains(t, string(text), "`"+s.large+"`", "a row of %s: run make spec", s.model)
		for _, wrong := range names(s.wrong) {
			require.Contains(t, string(text), "`"+wrong+"`", "a variant of %s: run make spec", s.model)
		}
	}
}
