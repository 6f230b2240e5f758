package cli

import (
	"bytes"
	"runtime"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/spf13/cobra"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// execute runs a command line and returns what it printed and its exit code.
func execute(t *testing.T, args ...string) (out string, code int) {
	t.Helper()
	var printed bytes.Buffer
	root := newRoot(&printed, &printed)
	root.SetArgs(args)
	err := root.Execute()
	if err != nil {
		complain(&printed, err)
	}
	return printed.String(), exitCode(err)
}

func TestMistakesInTheCommandLineAreUsage(t *testing.T) {
	for name, args := range map[string][]string{
		"unknown flag":     {"--nonsense"},
		"unknown command":  {"nonsense"},
		"unknown format":   {"-o", "yaml"},
		"sentinel alone":   {"--sentinel", "localhost:26379"},
		"cluster and more": {"--cluster", "a:1", "--sentinel", "b:2", "--master", "m"},
		"no duration":      {"--lease", "soon"},
		"no number":        {"--min-replicas", "-1"},
		"no name":          {"break"},
		"no command":       {"run", "deploy"},
		"a name twice":     {"watch", "deploy", "--match", "order:*"},
	} {
		t.Run(name, func(t *testing.T) {
			out, code := execute(t, args...)
			assert.Equal(t, exitUsage, code)
			assert.Contains(t, out, "holdfast: ")
		})
	}
}

// Every command is found by its help: what it does, its flags, and an example that can be copied.
func TestEveryCommandHasHelpWithAnExample(t *testing.T) {
	var visit func(cmd *cobra.Command)
	visit = func(cmd *cobra.Command) {
		if cmd.Name() == "help" || cmd.Name() == "completion" || cmd.Hidden {
			return
		}
		assert.NotEmpty(t, cmd.Short, cmd.CommandPath())
		assert.NotEmpty(t, cmd.Example, cmd.CommandPath())
		for _, sub := range cmd.Commands() {
			visit(sub)
		}
	}
	visit(newRoot(nil, nil))
	out, code := execute(t)
	assert.Zero(t, code)
	assert.Contains(t, out, "Examples:")
}

// A report of a bug names the version (defect F18).
func TestTheVersionIsTold(t *testing.T) {
	out, code := execute(t, "--version")
	assert.Zero(t, code)
	assert.Contains(t, out, "holdfast ")
	assert.Contains(t, out, runtime.Version())
}

func TestCompletionIsThereForEveryShell(t *testing.T) {
	for _, shell := range []string{"bash", "zsh", "fish", "powershell"} {
		out, code := execute(t, "completion", shell)
		assert.Zero(t, code, shell)
		assert.Contains(t, out, "holdfast", shell)
	}
}

// A server may be host:port alone (defect F18).
func TestTheServerIsTheFlagsOrTheEnvironments(t *testing.T) {
	t.Setenv("REDIS_URL", "rediss://user:secret@env.example.com:7000/2")
	open := func(g globals) redis.UniversalClient {
		rdb, err := g.open()
		require.NoError(t, err)
		t.Cleanup(func() { _ = rdb.Close() })
		return rdb
	}
	env := open(globals{}).(*redis.Client).Options()
	assert.Equal(t, "env.example.com:7000", env.Addr)
	assert.Equal(t, 2, env.DB)
	assert.Equal(t, "env.example.com", env.TLSConfig.ServerName)

	flag := open(globals{url: "redis://flag.example.com"}).(*redis.Client).Options()
	assert.Equal(t, "flag.example.com:6379", flag.Addr)
	assert.Nil(t, flag.TLSConfig)

	assert.Equal(t, "plain.example.com:6380", open(globals{url: "plain.example.com:6380"}).(*redis.Client).Options().Addr)
	assert.Equal(t, "[::1]:6380", open(globals{url: "[::1]:6380"}).(*redis.Client).Options().Addr)
	_, err := (&globals{url: "plain.example.com"}).open()
	assert.ErrorContains(t, err, "redis://user:password@host:port/db")

	_, err = (&globals{cluster: []string{"a:1"}}).open()
	assert.ErrorContains(t, err, "a cluster has database 0 only")
	t.Setenv("REDIS_URL", "rediss://user:secret@env.example.com:7000")
	cluster := open(globals{cluster: []string{"a:1", "b:2"}}).(*redis.ClusterClient).Options()
	assert.Equal(t, "user", cluster.Username)
	assert.Equal(t, "secret", cluster.Password)
	assert.Empty(t, cluster.TLSConfig.ServerName, "each node has a name of its own")

	t.Setenv("REDIS_URL", "")
	assert.Equal(t, "localhost:6379", open(globals{}).(*redis.Client).Options().Addr)
}

func TestFlagsOfTLS(t *testing.T) {
	none, err := (&tlsFlags{}).over(nil)
	require.NoError(t, err)
	assert.Nil(t, none)
	named, err := (&tlsFlags{server: "redis.internal"}).over(nil)
	require.NoError(t, err)
	assert.Equal(t, "redis.internal", named.ServerName)
	for _, bad := range []tlsFlags{{ca: "/nonexistent"}, {cert: "x"}, {key: "x"}, {cert: "/nonexistent", key: "x"}} {
		_, err := bad.over(nil)
		assert.Error(t, err)
	}
}
