package main

import (
	"errors"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/integration/history"
)

func TestTheTable(t *testing.T) {
	t.Parallel()
	f := findings{command: "run", began: time.Date(2026, 11, 27, 8, 0, 0, 0, time.UTC)}
	f.add("one", &history.Report{
		Acquisitions: 1234567, Faults: map[string]int{"killed": 20, "stopped": 2}, Stale: 3, Overlaps: 1,
		Linearized: history.Linearized{Operations: 999}, LongestWait: 1500 * time.Millisecond, Heap: 1_600_000,
		Duration: time.Minute,
	}, errors.New("an overlap"))
	f.add("two", &history.Report{Acquisitions: 10, Faults: map[string]int{"killed": 5}, Duration: time.Second}, nil)
	text := f.text("abc")
	require.Contains(t, text, "`run`, 2026-11-27, commit abc:")
	lines := strings.Split(strings.TrimSpace(text), "\n")[4:]
	require.Equal(t, []string{
		"| one (**failed**) | 1,234,567 | 22, 2 | 4 | 3 | 0 | 999 | 1.5 s | 0, 0 | 1.6 MB | 1m0s |",
		"| two | 10 | 5, 1 | 0 | 0 | 0 | 0 | 0.0 s | 0, 0 | 0.0 MB | 1s |",
		"| **all** (**failed**) | 1,234,577 | 27, 2 | 4 | 3 | 0 | 999 | 1.5 s | 0, 0 | 1.6 MB | 1m1s |",
	}, lines)
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
