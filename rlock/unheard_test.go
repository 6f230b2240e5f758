package rlock_test

import (
	"context"
	"strings"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/internal/testkit/textlog"
	"github.com/holdfast-go/holdfast/multilock"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/rwlock"
)

// logged is what a client logs.
type logged struct{ textlog.Log }

func (l *logged) warnings(about string) (lines []string) {
	for line := range strings.Lines(l.String()) {
		if strings.Contains(line, "level=WARN") && strings.Contains(line, about) {
			lines = append(lines, line)
		}
	}
	return lines
}

func loggedClient(t *testing.T, opts *redis.Options, o rlock.ClientOptions) (*rlock.Client, *logged) {
	t.Helper()
	rdb := redis.NewClient(opts)
	t.Cleanup(func() { _ = rdb.Close() })
	l := &logged{}
	o.Logger = l.Logger()
	client, err := rlock.NewClient(rdb, &o)
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	return client, l
}

// Defect D7: for a user without the right to publish, unlock frees the lock, and the log says once per client that
// nobody hears of it, with the missing right. For a user who has it nothing is logged.
func TestReleasesThatNobodyHearsOfAreLogged(t *testing.T) {
	t.Parallel()
	nothing := func(context.Context) error { return nil }
	for name, test := range map[string]struct {
		rules []any
		want  int
	}{
		"no PUBLISH":       {[]any{"-publish"}, 1},
		"no such channels": {[]any{"resetchannels", "&other:*"}, 1},
		"all rights":       {nil, 0},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			server := redistest.Start(t)
			opts := deniedUser(t, server, test.rules...)
			for kind, locker := range map[string]func(c *rlock.Client) rlock.Locker{
				"plain": func(c *rlock.Client) rlock.Locker { return rlock.New(c, "l") },
				"write": func(c *rlock.Client) rlock.Locker { return rwlock.New(c, "rw").Write() },
				"several": func(c *rlock.Client) rlock.Locker {
					return multilock.New([]*rlock.Lock{rlock.New(c, "a"), rlock.New(c, "b")})
				},
			} {
				client, log := loggedClient(t, opts, rlock.ClientOptions{})
				for range 3 {
					require.NoError(t, locker(client).Do(conductCtx(t), nothing), kind)
				}
				require.NoError(t, client.Close()) // by then everything is logged
				lines := log.warnings("publish")
				require.Len(t, lines, test.want, kind)
				for _, line := range lines {
					require.Contains(t, line, "+publish &redisson_", kind)
				}
				require.Empty(t, conductHeldKeys(t, server))
			}
		})
	}
}
