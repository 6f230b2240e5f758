package main

import (
	"regexp"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/scripts/internal/tally"
)

const (
	module = "github.com/holdfast-go/holdfast"
	// processes is the package that freezes and continues servers, which Windows cannot.
	processes = module + "/internal/testkit/servers"
)

// freezing is that package, and the examples that start servers themselves, to freeze them or as another account.
var freezing = []string{processes, module + "/examples/redlock", module + "/examples/stores"}

// packages are those of a platform.
type packages struct {
	built, vetted []string
	all, skipped  int // how many are in one of both; how many need another platform
}

// listing tells go list -test to print a package, or the tests of one, and what it needs. A package begins with code
// if it has files besides its tests, and with - if it has none at all on that platform.
const listing = `{{if .GoFiles}}code{{else if or .TestGoFiles .XTestGoFiles}}tests{{else}}-{{end}} ` +
	`{{.ImportPath}} {{join .Deps " "}}`

// packagesOf chooses packages from such a list. Without processes, what starts a server is not vetted, nor built if it
// is no test.
func packagesOf(listed string, without bool) (p packages) {
	cannot := make(map[string]bool) // a package; a package whose tests cannot
	code := make(map[string]bool)
	var all []string
	for line := range strings.Lines(listed) {
		has, rest, _ := strings.Cut(strings.TrimSpace(line), " ")
		name, needs, _ := strings.Cut(rest, " ")
		of, tested := strings.CutSuffix(name, ".test")
		if words := strings.Fields(needs); len(words) > 0 && strings.HasPrefix(words[0], "[") {
			of, tested = strings.TrimSuffix(words[0][1:], ".test]"), true
		}
		if !tested && has != "-" && !beside(name) {
			all = append(all, name)
			code[name] = has == "code"
		}
		if without && (slices.Contains(freezing, name) || slices.Contains(strings.Fields(needs), processes)) {
			cannot[of] = true
			cannot["built "+of] = cannot["built "+of] || !tested
		}
	}
	for _, name := range all {
		switch {
		case cannot["built "+name]:
			p.skipped++
			continue
		case !cannot[name]:
			p.vetted = append(p.vetted, name)
		}
		if code[name] {
			p.built = append(p.built, name)
		}
		p.all++
	}
	return p
}

// beside reports that a package is of a module that nobody imports, and that needs the libraries of many others.
func beside(name string) bool {
	return slices.ContainsFunc([]string{"/bench", "/integration"}, func(folder string) bool {
		rest, is := strings.CutPrefix(name, module+folder)
		return is && (rest == "" || rest[0] == '/')
	})
}

var complaint = regexp.MustCompile(`(?m)^# (\S+)`)

// count counts packages, by what go said: the name of one stands before what is wrong with it, once for each way to
// compile it.
func (p packages) count(said string) tally.Tally {
	bad := make(map[string]bool)
	for _, of := range complaint.FindAllStringSubmatch(said, -1) {
		bad[strings.TrimSuffix(strings.Trim(of[1], "[]"), "_test")] = true
	}
	return tally.Tally{Passed: p.all - len(bad), Failed: len(bad), Skipped: p.skipped}
}
