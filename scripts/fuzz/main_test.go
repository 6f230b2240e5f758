package main

import (
	"os"
	"testing"
	"testing/fstest"
	"time"

	"github.com/stretchr/testify/require"
)

func TestFuzzTestsAreFound(t *testing.T) {
	t.Parallel()
	test := func(name string) *fstest.MapFile {
		return &fstest.MapFile{Data: []byte("package p\n\nfunc " + name + "(f *testing.F) {}\n\nfunc TestIt(t *testing.T) {}\n")}
	}
	found, err := find(fstest.MapFS{"b/b_test.go": test("FuzzB"), "a/x/x_test.go": test("FuzzX"), "a/x/x.go": test("FuzzNone")})
	require.NoError(t, err)
	require.Equal(t, []target{{dir: "a/x", name: "FuzzX"}, {dir: "b", name: "FuzzB"}}, found)
	all, err := find(os.DirFS("../.."))
	require.NoError(t, err)
	require.Contains(t, all, target{dir: "internal/redisstore/luacall", name: "FuzzReplies"})
	for _, one := range asking {
		require.Contains(t, all, one)
	}
}

func TestExecutionsAreRead(t *testing.T) {
	t.Parallel()
	n, err := executed("fuzz: elapsed: 3s, execs: 11616 (3870/sec)\nfuzz: elapsed: 6s, execs: 23447 (3945/sec), new\nPASS\n")
	require.NoError(t, err)
	require.Equal(t, 23447, n)
	_, err = executed("PASS\n")
	require.ErrorContains(t, err, "does not say how often")
}

func TestTheTable(t *testing.T) {
	t.Parallel()
	require.Equal(t, "`fuzz`, 2026-11-27:\n\n| package | test | inputs |\n|---|---|---|\n| `a` | `FuzzA` | 1,500 |\n| `b` | `FuzzB` | 2 |\n"+
		"| **all** | | 1,502 |\n",
		table([]target{{"a", "FuzzA", 1500}, {"b", "FuzzB", 2}}, "fuzz", time.Date(2026, 11, 27, 0, 0, 0, 0, time.UTC)))
}
