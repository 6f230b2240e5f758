// Command suite says which of the two test commands runs which tests, and counts what they ran:
//
//	suite packages PART       the packages of a part, of all modules of the workspace
//	suite count [-again N] FILE...
//	                          the tests in the events of go test -json, as "N passed, N failed"; it fails if a test
//	                          failed, or if more than N failed at first and passed when they were run again
//
// `make test` runs the parts fast and beside, `make test-all` the parts bench, slow, building, search and servers.
// Every package is in one part, but for those of search and of servers, which are in fast as well.
package main

import (
	"flag"
	"fmt"
	"io"
	"math"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// module is the path of the module with the locks, and a prefix of all others.
const module = "github.com/holdfast-go/holdfast"

// A part of the tests is what runs with the same flags.
type part string

const (
	fast part = "fast" // the locks, under the race detector
	// beside are the small modules around them. They run without the race detector: the code of others that they need
	// would have to be built once more, and takes longer to build than their tests take.
	beside part = "beside"
	// search are tests of packages of fast that compute and start no goroutine which another one could race with. They
	// run without the race detector, under which they take twenty times as long: scripts/test.sh says which.
	search part = "search"
	slow   part = "slow" // what mostly waits, for minutes: histories, failovers, the fault matrix
	// building are tests that build programs or keep the processors busy otherwise: consumers, mutants, crash points.
	// Those of slow, whose servers write to the disk within a lease, do not run beside them.
	building part = "building"
	// bench is every contender in every situation, briefly, and what else computes and needs no race detector: the
	// model of the tokens, and the analyzer, which reads the standard library first.
	bench part = "bench"
	// servers are tests that depend on the server: conformance, scripts and faults. scripts/test-servers.sh and
	// scripts/servers run them on others than the installed one.
	servers part = "servers"
)

// listed are the parts whose packages are in another part as well.
var listed = map[part][]string{
	search: within("spec", "internal/engine", "internal/localqueue"),
	servers: within("internal/redisstore/luacall", "rlock", "rwlock", "fairlock", "semaphore", "latch", "multilock",
		"redlock", "internal/testkit/faulttest", "internal/testkit/scaletest", "internal/redisstore/wake",
		"internal/redisstore/links"),
}

// within returns the paths of packages of the module with the locks.
func within(folders ...string) (paths []string) {
	for _, folder := range folders {
		paths = append(paths, module+"/"+folder)
	}
	return paths
}

var parts = []part{fast, beside, slow, building, bench}

// longest lists the packages whose tests take longest. They start first: started last, they would run alone, and a
// machine of two processors would idle beside the last ones for a minute.
var longest = within("rlock", "internal/testkit/faulttest", "internal/testkit/scaletest", "internal/engine",
	"pglock", "redlock", "internal/redisstore/luacall", "etcdlock", "zklock", "semaphore", "rwlock", "fairlock",
	"multilock", "integration/history", "integration/ensemble", "integration/etcd", "integration/topologies",
	"integration/failover", "integration/postgres", "integration", "integration/redisson",
	"integration/consumer", "integration/crashpoints", "integration/mutants")

// rank orders the packages: the lower, the sooner a package starts.
func rank(path string) int {
	if at := slices.Index(longest, path); at >= 0 {
		return at
	}
	return len(longest)
}

// builders lists the packages of building.
var builders = within("integration/consumer", "integration/crashpoints", "integration/mutants",
	"integration/databases", "integration/monitoring")

// partOf returns the part of a package of a module.
func partOf(path, of string) part {
	switch {
	case path == module+"/integration/model", of == module+"/holdfastvet":
		return bench
	case slices.Contains(builders, path):
		return building
	}
	switch of {
	case module, module + "/pglock", module + "/etcdlock", module + "/zklock":
		return fast
	case module + "/integration":
		return slow
	case module + "/bench":
		return bench
	}
	return beside
}

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "suite:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	if len(args) >= 2 {
		switch args[0] {
		case "count":
			flags := flag.NewFlagSet("count", flag.ContinueOnError)
			again := flags.Int("again", math.MaxInt, "how many tests may pass only when they are run again")
			if err := flags.Parse(args[1:]); err != nil {
				return err
			}
			return count(flags.Args(), *again, out)
		case "packages":
			return printPackages(part(args[1]), out)
		}
	}
	return fmt.Errorf("want packages with one of %q, or count with files; got %q", parts, args)
}

// printPackages prints the packages of a part that have tests.
func printPackages(which part, out io.Writer) error {
	if found := listed[which]; found != nil {
		_, err := fmt.Fprintln(out, strings.Join(found, " "))
		return err
	}
	const tested = "{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}} {{.Module.Path}}{{end}}"
	list := exec.Command("go", "list", "-f", tested, "work")
	list.Stderr = os.Stderr
	lines, err := list.Output()
	if err != nil {
		return fmt.Errorf("go list: %w", err)
	}
	var found []string
	for line := range strings.Lines(string(lines)) {
		path, of, _ := strings.Cut(strings.TrimSpace(line), " ")
		if partOf(path, of) == which {
			found = append(found, path)
		}
	}
	if len(found) == 0 {
		return fmt.Errorf("no package is %q", which)
	}
	slices.SortStableFunc(found, func(a, b string) int { return rank(a) - rank(b) })
	_, err = fmt.Fprintln(out, strings.Join(found, " "))
	return err
}
