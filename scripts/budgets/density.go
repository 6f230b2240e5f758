package main

import (
	"fmt"
	"maps"
	"slices"
	"strings"
)

// argued are the packages in which goroutines meet, each with its least number of comment lines per hundred lines of
// code: a race needs a comment that argues it.
var argued = map[string]int{
	"internal/localqueue":  30,
	"internal/request":     30,
	"internal/store":       30,
	"watchdog":             30,
	"internal/hold":        30,
	"internal/engine":      30,
	"internal/links":       30,
	"internal/pipeline":    30,
	"internal/redisstore":  30,
	"internal/wake":        30,
	"internal/serverclock": 30,
	"redlock":              30,
	"multilock":            30,
}

// densities counts the lines of comment and of code of packages.
type densities map[string]*lines

type lines struct{ comment, code int }

func (d densities) add(dir string, source []byte) {
	if argued[dir] == 0 {
		return
	}
	at := d[dir]
	if at == nil {
		at = &lines{}
		d[dir] = at
	}
	for line := range strings.Lines(string(source)) {
		switch line = strings.TrimSpace(line); {
		case strings.HasPrefix(line, "//"):
			at.comment++
		case line != "":
			at.code++
		}
	}
}

// sparse returns the packages with too few lines of comment.
func (d densities) sparse() (breaches []string) {
	for _, dir := range slices.Sorted(maps.Keys(d)) {
		if at := d[dir]; 100*at.comment < argued[dir]*at.code {
			breaches = append(breaches, fmt.Sprintf(
				"%s: %d lines of comment for %d of code, fewer than %d in a hundred",
				dir, at.comment, at.code, argued[dir]))
		}
	}
	return breaches
}
