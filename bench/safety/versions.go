package main

import (
	"runtime"
	"runtime/debug"
	"slices"
)

// versions are those of the libraries and servers of some results.
func versions(results []result) []string {
	all := []string{runtime.Version(), runtime.GOOS + "/" + runtime.GOARCH}
	add := func(text string) {
		if text != "" && !slices.Contains(all, text) {
			all = append(all, text)
		}
	}
	for _, r := range results {
		add(r.server)
		if r.absent != "" {
			add("not run: " + r.absent)
		} else if of := r.entry.java; of != nil {
			add(of.program.Name + " " + of.program.Version)
			add(of.program.Java)
		}
	}
	info, _ := debug.ReadBuildInfo()
	for _, r := range results {
		for _, d := range info.Deps {
			if d.Path == r.entry.module && d.Path != ours {
				add(d.Path + " " + d.Version)
			}
		}
	}
	return all
}
