// Command fuzz lets Go's fuzzer run every fuzz test of the workspace, one after another, and writes into
// docs/evidence.md how many inputs each was given. It fails if one found something.
//
//	fuzz [-inputs 100000] [-page docs/evidence.md]
package main

import (
	"flag"
	"fmt"
	"go/ast"
	"io/fs"
	"os"
	"os/exec"
	"path"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/holdfast-go/holdfast/internal/gofiles"
	"github.com/holdfast-go/holdfast/internal/pages"
)

func main() {
	each := flag.Int("inputs", 100_000, "for each test; a hundredth for those that ask a server")
	page := flag.String("page", "", "the page to write the table into; none: it is printed")
	flag.Parse()
	if err := run(*each, *page); err != nil {
		fmt.Fprintln(os.Stderr, "fuzz:", err)
		os.Exit(1)
	}
}

func run(each int, page string) error {
	targets, err := find(os.DirFS("."))
	if err != nil {
		return err
	}
	for i, t := range targets {
		fmt.Fprintln(os.Stderr, "fuzz:", t.dir, t.name)
		if targets[i].executions, err = t.run(max(each/t.cost(), 1)); err != nil {
			return err
		}
	}
	text := table(targets, fmt.Sprintf("go run ./scripts/fuzz -inputs %d", each), time.Now())
	if page == "" {
		_, err := fmt.Print(text)
		return err
	}
	return pages.Show(page, "fuzz", text)
}

// target is one fuzz test.
type target struct {
	dir, name  string
	executions int
}

// asking are the tests of which each input is sent to a server.
var asking = []target{
	{dir: "rlock", name: "FuzzNames"}, {dir: "rlock", name: "FuzzImportTokens"},
	{dir: "internal/redisstore/luacall", name: "FuzzNamesAndIDs"},
	{dir: "internal/redisstore/luacall", name: "FuzzNumbers"}, {dir: "internal/keys", name: "FuzzSlotIsThatOfRedis"},
}

// cost is by how much fewer inputs a test is given.
func (t target) cost() int {
	if slices.Contains(asking, t) {
		return 100
	}
	return 1
}

// find lists the fuzz tests of a tree.
func find(tree fs.FS) (all []target, err error) {
	err = gofiles.EachTest(tree, func(f gofiles.File) {
		for _, d := range f.Decls {
			if fn, is := d.(*ast.FuncDecl); is && fn.Recv == nil && strings.HasPrefix(fn.Name.Name, "Fuzz") {
				all = append(all, target{dir: path.Dir(f.Name), name: fn.Name.Name})
			}
		}
	})
	slices.SortFunc(all, func(a, b target) int { return strings.Compare(a.dir+" "+a.name, b.dir+" "+b.name) })
	return all, err
}

// run lets Go's fuzzer look for an input that fails the test. What it finds is a file in the package's testdata. The
// fuzzer is given a number and no time: at the end of a time it may call that a failure.
func (t target) run(inputs int) (executions int, err error) {
	cmd := exec.Command("go", "test", "-run", "^$", "-fuzz", "^"+t.name+"$", "-fuzztime", fmt.Sprint(inputs, "x"), ".")
	cmd.Dir = t.dir
	out, err := cmd.CombinedOutput()
	if err != nil {
		return 0, fmt.Errorf("%s in %s: %w\n%s", t.name, t.dir, err, out)
	}
	return executed(string(out))
}

var told = regexp.MustCompile(`execs: (\d+) `)

// executed reads how often a test was run, in what go test says while it fuzzes.
func executed(output string) (int, error) {
	all := told.FindAllStringSubmatch(output, -1)
	if len(all) == 0 {
		return 0, fmt.Errorf("go test does not say how often it ran the test:\n%s", output)
	}
	return strconv.Atoi(all[len(all)-1][1])
}

func table(targets []target, command string, day time.Time) string {
	var b strings.Builder
	fmt.Fprintf(&b, "`%s`, %s:\n\n| package | test | inputs |\n|---|---|---|\n", command, day.Format(time.DateOnly))
	sum := 0
	for _, t := range targets {
		fmt.Fprintf(&b, "| `%s` | `%s` | %s |\n", t.dir, t.name, pages.Number(t.executions))
		sum += t.executions
	}
	fmt.Fprintf(&b, "| **all** | | %s |\n", pages.Number(sum))
	return b.String()
}
