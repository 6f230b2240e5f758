package etcdlock_test

import (
	"context"
	"net"
	"strings"
	"testing"
	"time"

	"github.com/stretchr/testify/require"
	clientv3 "go.etcd.io/etcd/client/v3"
	"go.uber.org/zap"

	"github.com/holdfast-go/holdfast/etcdlock"
	"github.com/holdfast-go/holdfast/internal/testkit/etcdtest"
	"github.com/holdfast-go/holdfast/lock"
)

// calls are those that ask etcd.
var calls = map[string]func(ctx context.Context, c *etcdlock.Client) error{
	"Lock":    func(ctx context.Context, c *etcdlock.Client) error { _, _, err := c.Lock("a").Lock(ctx); return err },
	"TryLock": func(ctx context.Context, c *etcdlock.Client) error { _, _, err := c.Lock("a").TryLock(ctx); return err },
	"Inspect": func(ctx context.Context, c *etcdlock.Client) error { _, err := c.Lock("a").Inspect(ctx); return err },
	"Break":   func(ctx context.Context, c *etcdlock.Client) error { return c.Lock("a").Break(ctx) },
	"Rebase":  etcdlock.Rebase,
	"List": func(ctx context.Context, c *etcdlock.Client) error {
		for _, err := range etcdlock.List(ctx, c, "") {
			if err != nil {
				return err
			}
		}
		return nil
	},
}

// A server that is too old is refused by every call, before anything is written (bug 61).
func TestAServerThatIsTooOld(t *testing.T) {
	t.Parallel()
	server, version := etcdtest.StartDistributions(t)
	c := client(t, connect(t, server.Endpoint()), etcdlock.Options{})
	for name, call := range calls {
		err := call(within(t), c)
		var old *etcdlock.VersionError
		require.ErrorAs(t, err, &old, name)
		require.ErrorIs(t, err, lock.ErrUnavailable, name)
		require.Equal(t, etcdlock.VersionError{Endpoint: server.Endpoint(), Version: version}, *old)
		require.Contains(t, err.Error(), "use 3.5.23, 3.6.5 or newer")
	}
	require.Equal(t, lock.LevelFailure, levels(etcdlock.Check(within(t), c))["version"])
	require.NoError(t, c.Close())
	require.Empty(t, server.Keys(t, ""))
}

// levels are those of findings, by their names. Of several of one name it is the worst.
func levels(findings []lock.Finding) map[string]lock.Level {
	all := make(map[string]lock.Level)
	for _, f := range findings {
		all[f.Name] = max(all[f.Name], f.Level)
	}
	return all
}

// A new client locks while some of the servers do not answer: one that is not there, and one that stands still.
func TestServersThatDoNotAnswer(t *testing.T) {
	t.Parallel()
	for name, absent := range map[string]string{"gone": refusing(t), "silent": silent(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			present := etcdtest.Shared(t).Endpoint()
			for _, endpoints := range [][]string{{"http://" + absent, present}, {present, "http://" + absent}} {
				c := client(t, connectAs(t, clientv3.Config{Endpoints: endpoints}), etcdlock.Options{Lease: 3 * brief})
				taken(t, c.Lock(nameOf(t)))
			}
		})
	}
	for name, absent := range map[string]string{"all gone": refusing(t), "all silent": silent(t)} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			c := client(t, connect(t, "http://"+absent), etcdlock.Options{Lease: brief})
			for name, call := range calls {
				require.ErrorIs(t, call(within(t), c), lock.ErrUnavailable, name)
			}
			require.Equal(t, lock.LevelFailure, levels(etcdlock.Check(within(t), c))["servers"])
		})
	}
}

// refusing is an address at which nobody listens.
func refusing(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	require.NoError(t, listener.Close())
	return listener.Addr().String()
}

// silent is an address at which connections are made, and nothing is said.
func silent(t *testing.T) string {
	t.Helper()
	listener, err := net.Listen("tcp", "127.0.0.1:0")
	require.NoError(t, err)
	t.Cleanup(func() { _ = listener.Close() })
	return listener.Addr().String()
}

const password = "open-sesame-4711"

// withUsers has a server ask its clients for names and passwords. The user "app" may have the locks below "app/".
func withUsers(t *testing.T, server *etcdtest.Server) {
	t.Helper()
	for _, command := range []string{
		"user add root:root", "role add root", "user grant-role root root",
		"user add app:" + password, "role add app", "user grant-role app app",
		"role grant-permission app --prefix=true readwrite app/",
		"role grant-permission app --prefix=true readwrite holdfast/", "auth enable",
	} {
		server.Ctl(t, strings.Fields(command)...)
	}
}

// appOf is a client of the user "app".
func appOf(t *testing.T, server *etcdtest.Server, opts etcdlock.Options) *etcdlock.Client {
	t.Helper()
	return client(t, connectAs(t, clientv3.Config{
		Endpoints: []string{server.Endpoint()}, Username: "app", Password: password,
	}), opts)
}

// With authentication, tokens of the server's end after a time, and with its restart. Holds and waiters outlive both.
func TestAuthentication(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t, "--auth-token-ttl=2")
	withUsers(t, server)
	root := connectAs(t, clientv3.Config{Endpoints: []string{server.Endpoint()}, Username: "root", Password: "root"})
	opts := etcdlock.Options{Lease: 4 * brief}
	a, b, idle := appOf(t, server, opts), appOf(t, server, opts), appOf(t, server, opts)
	taken(t, idle.Lock("app/idle"))
	held, unlock := take(t, a.Lock("app/a"))
	got := waits(t, root, b.Lock("app/a"), 2)
	began := time.Now()
	eventually(t, func() bool { return time.Since(began) > 3*time.Second }, "the servers' tokens end")
	taken(t, idle.Lock("app/idle"))
	server.Kill()
	server.Restart()
	taken(t, idle.Lock("app/idle"))
	require.NoError(t, held.Err())
	require.NoError(t, unlock())
	turn := has(t, got)
	require.NoError(t, turn.unlock())

	_, _, err := a.Lock("elsewhere").Lock(within(t))
	require.ErrorIs(t, err, lock.ErrUnavailable)
	require.Contains(t, err.Error(), "etcd denies access")
	require.Contains(t, err.Error(), "permission denied")
	taken(t, a.Lock("app/a"))
	for _, c := range []*etcdlock.Client{a, b, idle} { // each of which may have a seal
		require.NoError(t, c.Close())
	}
	require.Equal(t, []string{"holdfast/base"}, keysOf(t, root, "holdfast/"))
}

// Wrong credentials are refused at once, and no error or log line has a password in it.
func TestAWrongPassword(t *testing.T) {
	t.Parallel()
	server := etcdtest.Start(t)
	withUsers(t, server)
	cli, err := clientv3.New(clientv3.Config{
		Endpoints: []string{server.Endpoint()}, Username: "app", Password: "not-" + password, Logger: zap.NewNop(),
	})
	if err == nil { // it is refused as early as that
		_ = cli.Close()
	}
	require.Error(t, err)

	var texts []string
	nobody := client(t, connect(t, server.Endpoint()), etcdlock.Options{})
	for name, call := range calls {
		err := call(within(t), nobody)
		require.ErrorIs(t, err, lock.ErrUnavailable, name)
		require.Contains(t, err.Error(), "etcd denies access", name)
		texts = append(texts, err.Error())
	}
	require.NoError(t, nobody.Close())
	require.NotContains(t, strings.Join(texts, "\n"), "sesame")
}
