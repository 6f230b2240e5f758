// Command suite says which of the two test commands runs which tests, and counts what they ran:
//
//	suite packages fast|slow     the packages of the module that `make test` runs, or `make test-all`
//	suite modules fast|slow      the same for the modules beside it: their folders
//	suite count FILE...          the tests in the events of go test -json, as "N passed, N failed"
//
// Tests that take minutes (histories, mutants, crash points, the fault matrix, topologies, Java, containers)
// are slow and are below integration. All others are fast, so no package is in neither half.
package main

import (
	"fmt"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
)

// module is the path of the module with the locks.
const module = "github.com/holdfast-go/holdfast"

// A half of the tests is what one of the two commands runs.
type half string

const (
	fast half = "fast" // make test
	slow half = "slow" // make test-all
)

// beside are the folders of the other modules.
var beside = map[half][]string{
	fast: {"examples/fencing", "holdfastvet"},
	slow: {"bench"}, // every contender in every situation, briefly
}

// longest lists the packages whose tests take longest. They start first: started last, they would run alone.
var longest = []string{module + "/rlock", module + "/lua", module + "/redlock"}

// rank orders the packages: the lower, the sooner a package starts.
func rank(path string) int {
	if at := slices.Index(longest, path); at >= 0 {
		return at
	}
	return len(longest)
}

// halfOf returns the half that a folder of the main module belongs to.
func halfOf(folder string) half {
	if folder == "integration" || strings.HasPrefix(folder, "integration/") {
		return slow
	}
	return fast
}

func main() {
	if err := run(os.Args[1:], os.Stdout); err != nil {
		fmt.Fprintln(os.Stderr, "suite:", err)
		os.Exit(1)
	}
}

func run(args []string, out io.Writer) error {
	if len(args) >= 2 {
		switch which := half(args[1]); args[0] {
		case "count":
			return count(args[1:], out)
		case "packages":
			return printPackages(which, out)
		case "modules":
			if _, known := beside[which]; known {
				_, err := fmt.Fprintln(out, strings.Join(beside[which], " "))
				return err
			}
		}
	}
	return fmt.Errorf("want packages or modules with fast or slow, or count with files; got %q", args)
}

// printPackages prints the packages of a half that have tests.
func printPackages(which half, out io.Writer) error {
	const tested = "{{if or .TestGoFiles .XTestGoFiles}}{{.ImportPath}}{{end}}"
	list := exec.Command("go", "list", "-f", tested, module+"/...")
	list.Stderr = os.Stderr
	paths, err := list.Output()
	if err != nil {
		return fmt.Errorf("go list: %w", err)
	}
	var found []string
	for path := range strings.FieldsSeq(string(paths)) {
		if halfOf(strings.TrimPrefix(path, module+"/")) == which {
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
