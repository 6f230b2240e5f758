// Command words applies the rules of .vale/holdfast to the strings of Go code: errors, logs and what programs print.
// vale reads comments and pages, but no strings. It reads the tree below the working directory, prints one line per
// breach and exits with 1 if there is one. Tests may quote what they like.
package main

import (
	"fmt"
	"go/ast"
	"go/token"
	"io/fs"
	"os"
	"path"
	"regexp"
	"strconv"
	"strings"

	"github.com/holdfast-go/holdfast/internal/gofiles"
)

const styles = ".vale/holdfast"

func main() {
	breaches, err := check(os.DirFS("."))
	if err != nil {
		fmt.Fprintln(os.Stderr, "words:", err)
		os.Exit(1)
	}
	for _, breach := range breaches {
		fmt.Fprintln(os.Stderr, breach)
	}
	if len(breaches) > 0 {
		os.Exit(1)
	}
}

// rule is one line of a style's swap table.
type rule struct {
	banned  *regexp.Regexp
	instead string
}

// check returns the breaches in the strings of all Go files of tree, except tests.
func check(tree fs.FS) (breaches []string, err error) {
	rules, err := readRules(tree)
	if err != nil {
		return nil, err
	}
	err = gofiles.Each(tree, func(f gofiles.File) {
		breaches = append(breaches, checkStrings(f.Set, f.File, rules)...)
	})
	return breaches, err
}

func checkStrings(fset *token.FileSet, file *ast.File, rules []rule) (breaches []string) {
	ast.Inspect(file, func(n ast.Node) bool {
		lit, is := n.(*ast.BasicLit)
		if !is || lit.Kind != token.STRING {
			return true
		}
		text, err := strconv.Unquote(lit.Value)
		if err != nil || !strings.Contains(text, " ") {
			return true // one word is a name, such as that of a row of the benchmarks
		}
		for _, rule := range rules {
			if found := rule.banned.FindString(text); found != "" {
				breaches = append(breaches, fmt.Sprintf("%s: write %s, not %q",
					fset.Position(lit.Pos()), rule.instead, found))
			}
		}
		return true
	})
	return breaches
}

// swap is a line of a swap table: a pattern in single quotes, and what to write instead in double quotes.
var swap = regexp.MustCompile(`^  '(.+)': "(.+)"$`)

// readRules reads the swap tables of the styles. A line in one that is not understood is an error, so that no rule is
// ignored silently.
func readRules(tree fs.FS) (rules []rule, err error) {
	files, err := fs.Glob(tree, path.Join(styles, "*.yml"))
	if err != nil {
		return nil, err
	}
	for _, file := range files {
		text, err := fs.ReadFile(tree, file)
		if err != nil {
			return nil, err
		}
		_, table, found := strings.Cut(string(text), "\nswap:\n")
		if !found {
			return nil, fmt.Errorf("%s has no swap table", file)
		}
		for line := range strings.Lines(table) {
			match := swap.FindStringSubmatch(strings.TrimSuffix(line, "\n"))
			if match == nil {
				return nil, fmt.Errorf("%s: not understood: %s", file, line)
			}
			banned, err := regexp.Compile("(?i)" + match[1])
			if err != nil {
				return nil, fmt.Errorf("%s: %w", file, err)
			}
			rules = append(rules, rule{banned: banned, instead: match[2]})
		}
	}
	if len(rules) == 0 {
		return nil, fmt.Errorf("no rules in %s", styles)
	}
	return rules, nil
}
