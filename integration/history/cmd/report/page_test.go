package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/integration/history"
	"github.com/holdfast-go/holdfast/internal/pages"
)

// A row takes the place of the last one with its title, in the order of the parts, and the others stay.
func TestTheTable(t *testing.T) {
	t.Parallel()
	page := filepath.Join(t.TempDir(), "page.md")
	require.NoError(t, os.WriteFile(page, []byte("Before.\n<!-- histories -->\n<!-- /histories -->\n"), 0o600))
	first, err := open(page)
	require.NoError(t, err)
	first.commit = "abc"
	require.NoError(t, first.add(parts[1].title, &history.Report{Acquisitions: 10, Holds: make([]history.Hold, 1)}, nil))
	require.NoError(t, first.add(parts[0].title, &history.Report{Acquisitions: 5}, nil))
	later, err := open(page)
	require.NoError(t, err)
	require.Empty(t, later.rows[1].Report.Holds)
	later.commit = "def"
	require.NoError(t, later.add(parts[0].title, &history.Report{
		Acquisitions: 1234567, Faults: map[string]int{"killed": 20, "stopped": 2}, Stale: 3, Overlaps: 1,
		Linearized: history.Linearized{Operations: 999}, LongestWait: 1500 * time.Millisecond, Heap: 1_600_000,
		Calls: map[string]int{"java-try:ok": 7, "java-try:busy": 1, "try:ok": 2}, Duration: time.Minute,
	}, errors.New("an overlap")))
	text, err := pages.Shown(page, "histories")
	require.NoError(t, err)
	today := time.Now().Format(time.DateOnly)
	require.Equal(t, []string{
		"| one Redis (**failed**) | 1,234,567 | 7 | 22, 2 | 4 | 3 | 0 | 999 | 1.5 s | 0, 0 | 1.6 MB | 1m0s | " + today +
			", def |",
		"| a cluster of three, whose slots move | 10 | 0 | 0, 0 | 0 | 0 | 0 | 0 | 0.0 s | 0, 0 | 0.0 MB | 0s | " + today +
			", abc |",
		"| **all** (**failed**) | 1,234,577 | 7 | 22, 2 | 4 | 3 | 0 | 999 | 1.5 s | 0, 0 | 1.6 MB | 1m0s |  |",
	}, strings.Split(strings.TrimSpace(text), "\n")[2:])
}

// Every part can be run, and together they are the whole.
func TestTheParts(t *testing.T) {
	t.Parallel()
	shares, faults := 0, 0
	for _, p := range parts {
		shares += p.share
		faults += p.faults
		require.True(t, chosen(p.title, ""))
	}
	require.Equal(t, []int{100, 100}, []int{shares, faults})
	require.True(t, chosen("one Redis", "etcd,Redis"))
	require.False(t, chosen("one Redis", "etcd"))
}
