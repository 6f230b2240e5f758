package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/scripts/internal/tally"
)

func TestAProgramSaysItsVersion(t *testing.T) {
	for said, want := range map[string]string{
		"Redis server v=7.0.15 sha=00000000:0 malloc=jemalloc-5.3.0 bits=64 build=a\n":                "Redis 7.0.15",
		"setup-redis: /usr/bin/valkey-server: Valkey server v=9.1.2 sha=0\n":                          "Valkey 9.1.2",
		"setup-postgres: /usr/bin/postgres: postgres (PostgreSQL) 15.18 (Debian)\nPgBouncer 1.18.0\n": "PostgreSQL 15.18",
		"etcd Version: 3.6.16\nGit SHA: Not provided\n":                                               "etcd 3.6.16",
		"go version go1.27.3 linux/amd64\n":                                                           "go 1.27.3",
		"something else\n":                                                                            "something else",
	} {
		require.Equal(t, want, version(said))
	}
}

func TestTheFolderOfTheCallersChoiceIsOfThatVersion(t *testing.T) {
	dir := t.TempDir()
	for _, name := range []string{"redis-7.20.1", "redis-7.2.5", "redis-7.2.6", "redis-7.4.1"} {
		require.NoError(t, os.Mkdir(filepath.Join(dir, name), 0o700))
	}
	s := server{name: "redis-7.2", program: "redis-server"}
	program, err := s.given(dir)
	require.NoError(t, err)
	require.Equal(t, filepath.Join(dir, "redis-7.2.6", "redis-server"), program)
	for _, none := range []string{"", t.TempDir()} {
		program, err = s.given(none)
		require.NoError(t, err)
		require.Empty(t, program)
	}
	_, err = s.given(filepath.Join(dir, "nowhere"))
	require.ErrorContains(t, err, serversVariable)
	t.Setenv(serversVariable, "")
	_, err = s.find()
	require.ErrorContains(t, err, "no package has it")
}

func TestAScriptTellsWhereAServerIs(t *testing.T) {
	redis := server{"redis-8", "redis-server", []string{"fetch"}}
	path, err := redis.told("valkey-9.1.2 /v/valkey-server\nredis-8.2.3 /r/redis-server\n")
	require.NoError(t, err)
	require.Equal(t, "/r/redis-server", path)
	path, err = server{"postgres-18", "bin/postgres", nil}.told("postgres-14.23 /a/bin\npostgres-18.4 /b/bin\n")
	require.NoError(t, err)
	require.Equal(t, "/b/bin/postgres", path)
	path, err = server{"etcd-3.6", "etcd", nil}.told("/c/etcd-3.6.16\n")
	require.NoError(t, err)
	require.Equal(t, "/c/etcd-3.6.16/etcd", path)
	_, err = redis.told("redis-7.4.1 /r/redis-server\n")
	require.ErrorContains(t, err, "printed no redis-8")
}

func TestAJarSaysItsVersion(t *testing.T) {
	dir := t.TempDir()
	t.Setenv(serversVariable, dir)
	folder := filepath.Join(dir, "zookeeper-3.8.4")
	require.NoError(t, os.Mkdir(folder, 0o700))
	s := server{"zookeeper-3.8", "zookeeper-*.jar", nil}
	_, err := s.findJar()
	require.ErrorContains(t, err, "no jar")
	for _, name := range []string{"zookeeper-jute-3.8.4.jar", "zookeeper-3.8.4.jar"} {
		require.NoError(t, os.WriteFile(filepath.Join(folder, name), nil, 0o600))
	}
	on, err := s.findJar()
	require.NoError(t, err)
	require.Equal(t, found{"ZooKeeper 3.8.4", filepath.Join(folder, "zookeeper-3.8.4.jar")}, on)
}

// A page keeps the rows that were not run again, in the order of the subjects, and all else that it says.
func TestATableIsReadAsItWasWritten(t *testing.T) {
	path := filepath.Join(t.TempDir(), "page.md")
	page := "# Page\n\n<!-- servers -->\n<!-- /servers -->\n\nMore.\n"
	require.NoError(t, os.WriteFile(path, []byte(page), 0o600))
	of := []subject{{name: "a", suites: "all"}, {name: "b", suites: "some"}, {name: "c", suites: "none"}}

	kept, err := read(path)
	require.NoError(t, err)
	require.Empty(t, kept)
	measured := row{name: "b", version: "b 1.2", suites: "some", tally: tally.Tally{Passed: 7, Failed: 1, Skipped: 2},
		date: "2026-01-02", commit: "abcdef0"}
	kept.put(measured)
	require.NoError(t, write(path, kept.inOrder(of)))
	kept, err = read(path)
	require.NoError(t, err)
	require.Equal(t, measured, kept["b"])
	require.Equal(t, "not yet", kept["a"].reason)

	kept.put(row{name: "b", suites: "some", reason: "it is away"})
	require.Equal(t, measured, kept["b"], "it was measured before")
	kept.put(row{name: "a", suites: "of before", reason: "it | is\naway"})
	kept.put(row{name: "gone", suites: "all", reason: "of no subject"})
	require.NoError(t, write(path, kept.inOrder(of)))
	text, err := os.ReadFile(path)
	require.NoError(t, err)
	require.Equal(t, "# Page\n\n<!-- servers -->\n\n"+header+
		"| a | not run: it / is away | all | | | | | |\n"+
		"| b | b 1.2 | some | 7 | 1 | 2 | 2026-01-02 | abcdef0 |\n"+
		"| c | not run: not yet | none | | | | | |\n\n<!-- /servers -->\n\nMore.\n", string(text))
}

func TestAPageWithoutATableIsRefused(t *testing.T) {
	path := filepath.Join(t.TempDir(), "page.md")
	require.NoError(t, os.WriteFile(path, []byte("# Page\n"), 0o600))
	_, err := read(path)
	require.ErrorContains(t, err, "<!-- servers -->")
	for _, bad := range []string{"| a | b |\n", "| a | 1 | all | many | 0 | 0 | today | abc |\n"} {
		require.NoError(t, os.WriteFile(path, []byte("<!-- servers -->\n"+header+bad+"<!-- /servers -->"), 0o600))
		_, err := read(path)
		require.ErrorContains(t, err, strings.TrimSpace(bad))
	}
}

// The page of the repository has a row for each subject.
func TestThePageHasEachSubject(t *testing.T) {
	kept, err := read(filepath.Join("..", "..", "docs", "servers.md"))
	require.NoError(t, err)
	for _, s := range subjects() {
		require.Contains(t, kept, s.name, "run make servers")
		require.Equal(t, s.suites, kept[s.name].suites, "run make servers")
	}
	require.Len(t, kept, len(subjects()))
}

func TestPackagesThatStartServersAreLeftToOtherPlatforms(t *testing.T) {
	listed := strings.ReplaceAll(`code M/lock fmt
tests M/lock.test fmt M/lock testing
tests M/lock_test [M/lock.test] M/lock testing
code M/rlock M/lock
tests M/rlock.test M/rlock [M/rlock.test] M/internal/testkit/servers
code M/internal/testkit/servers os
code M/internal/testkit/pgtest M/internal/testkit/servers
tests M/docs
- M/cmd/unix
code M/bench/peer fmt
code M/benchmark fmt
`, "M/", module+"/")
	within := func(names ...string) (paths []string) {
		for _, name := range names {
			paths = append(paths, module+"/"+name)
		}
		return paths
	}
	p := packagesOf(listed, false)
	all := within("lock", "rlock", "internal/testkit/servers", "internal/testkit/pgtest", "docs", "benchmark")
	require.Equal(t, all, p.vetted)
	require.Equal(t, within("lock", "rlock", "internal/testkit/servers", "internal/testkit/pgtest", "benchmark"), p.built)
	require.Zero(t, p.skipped)

	p = packagesOf(listed, true)
	require.Equal(t, within("lock", "docs", "benchmark"), p.vetted)
	require.Equal(t, within("lock", "rlock", "benchmark"), p.built)
	require.Equal(t, tally.Tally{Passed: 3, Failed: 1, Skipped: 2}, p.count(
		"# M/rlock\nx.go:1:2: bad\n# M/rlock [M/rlock.test]\nx.go:1:2: bad\n# [M/rlock]\nvet: bad\n"))
}
