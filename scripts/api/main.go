// Command api finds breaks of the exported API of all modules of the workspace that users import:
//
//	go run ./scripts/api       what is in scripts/api/baseline.txt and no longer in the code; fails if there is any
//	go run ./scripts/api -w    write the baseline anew: scripts/release.sh does so, for the API of the newest release
//
// The baseline has a line for each exported name, field and method. A line that is gone or differs is a break; a new
// one is none. An interface that users can implement is one line, since a new method breaks what implements it. Unlike
// apidiff it needs nothing of the release but this file, neither its sources nor half a minute to compile them.
package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"errors"
	"fmt"
	"go/importer"
	"go/token"
	"io"
	"os"
	"os/exec"
	"slices"
	"strings"
)

const (
	baseline = "scripts/api/baseline.txt"
	holdfast = "github.com/holdfast-go/holdfast/"
)

func main() {
	if err := run(os.Args[1:]); err != nil {
		fmt.Fprintln(os.Stderr, "api:", err)
		os.Exit(1)
	}
}

func run(args []string) error {
	paths, err := public()
	if err != nil {
		return err
	}
	now, err := exported(".", paths...)
	if err != nil {
		return err
	}
	if slices.Equal(args, []string{"-w"}) {
		return os.WriteFile(baseline, []byte(strings.Join(now, "\n")+"\n"), 0o666)
	}
	before, err := os.ReadFile(baseline)
	if err != nil {
		return err
	}
	gone := breaks(strings.Split(strings.TrimSpace(string(before)), "\n"), now)
	if len(gone) == 0 {
		return nil
	}
	return fmt.Errorf("code that uses these will not compile (if that is meant, say so in CHANGELOG.md and run "+
		"go run ./scripts/api -w):\n\t%s", strings.Join(gone, "\n\t"))
}

// breaks returns the lines of before that now lacks.
func breaks(before, now []string) (gone []string) {
	for _, line := range before {
		if _, found := slices.BinarySearch(now, line); !found {
			gone = append(gone, line)
		}
	}
	return gone
}

// public returns the packages of the workspace that users can import and are meant to.
func public() (paths []string, err error) {
	lines, err := exec.Command("go", "list", "-f", "{{if .GoFiles}}{{.Name}} {{.ImportPath}}{{end}}", "work").Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w", err)
	}
	for line := range strings.Lines(string(lines)) {
		name, path, _ := strings.Cut(strings.TrimSpace(line), " ")
		parts := strings.Split(strings.TrimPrefix(path, holdfast), "/")
		if name != "main" && !slices.Contains(parts, "internal") &&
			!slices.Contains([]string{"bench", "examples", "integration"}, parts[0]) {
			paths = append(paths, path)
		}
	}
	return paths, nil
}

// pkg is what go list says of a package.
type pkg struct {
	ImportPath, Export string // Export is a file
	DepOnly            bool   // no pattern names it
}

// exported returns the sorted lines of the packages that patterns name in dir.
func exported(dir string, patterns ...string) ([]string, error) {
	args := []string{"list", "-export", "-deps", "-json=ImportPath,Export,DepOnly"}
	list := exec.Command("go", append(args, patterns...)...)
	list.Dir = dir
	var said bytes.Buffer
	list.Stderr = &said
	out, err := list.Output()
	if err != nil {
		return nil, fmt.Errorf("go list: %w: %s", err, said.Bytes())
	}
	compiled := make(map[string]string) // export data by import path
	var named []string
	for decoder := json.NewDecoder(bytes.NewReader(out)); ; {
		var p pkg
		if err := decoder.Decode(&p); errors.Is(err, io.EOF) {
			break
		} else if err != nil {
			return nil, err
		}
		compiled[p.ImportPath] = p.Export
		if !p.DepOnly {
			named = append(named, p.ImportPath)
		}
	}
	types := importer.ForCompiler(token.NewFileSet(), "gc", func(path string) (io.ReadCloser, error) {
		file, err := os.Open(compiled[path])
		if err != nil {
			return nil, err
		}
		return struct {
			io.Reader
			io.Closer
		}{bufio.NewReader(file), file}, nil
	})
	var lines []string
	for _, path := range named {
		p, err := types.Import(path)
		if err != nil {
			return nil, err
		}
		lines = append(lines, linesOf(p)...)
	}
	slices.Sort(lines)
	return slices.Compact(lines), nil
}
