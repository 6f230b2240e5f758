package leader_test

import (
	"log/slog"
	"testing"
	"testing/synctest"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/simredis"
	"github.com/holdfast-go/holdfast/leader"
	"github.com/holdfast-go/holdfast/rlock"
)

// defect G44: to resign takes the release timeout at most, though a leader has a note to take away, and Close after it
// half of that.
func TestResigningInAnOutageTakesOneReleaseTimeout(t *testing.T) {
	t.Parallel()
	for name, begin := range map[string]func(server *simredis.Server){
		"it hangs":             (*simredis.Server).Freeze,
		"it cannot be dialled": func(server *simredis.Server) { server.CutAll(); server.Leave(simredis.Stuck) },
	} {
		for kind, of := range kinds {
			t.Run(kind+", "+name, func(t *testing.T) {
				t.Parallel()
				synctest.Test(t, func(t *testing.T) {
					const release = 5 * time.Second
					server := simredis.New(t)
					rdb := redis.NewClient(server.Options())
					defer func() { _ = rdb.Close() }()
					client, err := rlock.NewClient(rdb, &rlock.ClientOptions{
						ReleaseTimeout: release, Logger: slog.New(slog.DiscardHandler),
					})
					require.NoError(t, err)
					_, resign, err := leader.New(of(client, "leader"), leader.Value("a:1")).Campaign(t.Context())
					require.NoError(t, err)
					begin(server)
					began := time.Now()
					require.ErrorIs(t, resign(), rlock.ErrUnconfirmed)
					require.LessOrEqual(t, time.Since(began), release)
					_ = client.Close()
					require.LessOrEqual(t, time.Since(began), release*3/2+100*time.Millisecond, "and a moment for observers")
					server.Thaw()
					time.Sleep(2 * time.Minute) // the dial that heeds no context
				})
			})
		}
	}
}
