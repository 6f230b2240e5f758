package debuglocks_test

import (
	"context"
	"encoding/json"
	"net/http"
	"net/http/httptest"
	"strings"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/observe/debuglocks"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/rwlock"
)

func TestMain(m *testing.M) { redistest.Main(m) }

func newClient(t *testing.T, addr string) *rlock.Client {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	t.Cleanup(func() { _ = rdb.Close() })
	client, err := rlock.NewClient(rdb, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func get(t *testing.T, h http.Handler, url, accept string) *httptest.ResponseRecorder {
	t.Helper()
	r := httptest.NewRequest(http.MethodGet, url, nil)
	r.Header.Set("Accept", accept)
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	require.Equal(t, http.StatusOK, w.Code)
	return w
}

func page(t *testing.T, h http.Handler, url string) (p debuglocks.Page) {
	t.Helper()
	w := get(t, h, url, "application/json")
	require.Equal(t, "application/json", w.Header().Get("Content-Type"))
	require.NoError(t, json.Unmarshal(w.Body.Bytes(), &p))
	return p
}

func TestThePageTellsHoldsAndWaiters(t *testing.T) {
	t.Parallel()
	addr, name := redistest.Shared(t).Addr(), redistest.Key(t)
	client := newClient(t, addr)
	h := debuglocks.Handler(client)
	empty := page(t, h, "/debug/locks")
	assert.NotNil(t, empty.Holds)
	assert.Empty(t, empty.Holds)

	lock := rlock.New(client, name+"<b>")
	held, unlock, err := lock.Lock(t.Context())
	require.NoError(t, err)
	hold, err := lock.Held(held)
	require.NoError(t, err)
	_, leave, err := rwlock.New(client, name+":rw").Read().Lock(t.Context())
	require.NoError(t, err)
	ctx, cancel := context.WithCancel(t.Context())
	done := make(chan error, 1)
	go func() { _, _, err := lock.Lock(ctx); done <- err }()
	redistest.Eventually(t, 10*time.Second, func() bool { return client.Stats().Waiters == 1 }, "it waits")

	p := page(t, h, "/debug/locks")
	require.Len(t, p.Holds, 2)
	assert.Equal(t, hold.ID, p.Holds[1].ID)
	assert.Equal(t, hold.Fence, p.Holds[1].Fence)
	assert.Equal(t, "rlock", p.Holds[1].Kind)
	assert.Equal(t, "read", p.Holds[0].Kind)
	assert.True(t, p.Holds[1].ValidUntil.After(p.Time))
	require.Len(t, p.Waiters, 1)
	assert.Equal(t, name+"<b>", p.Waiters[0].Name)
	assert.Empty(t, p.Redis, "nobody asked")

	text := get(t, h, "/debug/locks", "text/html").Body.String()
	assert.Contains(t, text, hold.ID)
	assert.Contains(t, text, "&lt;b&gt;", "names are text")
	assert.NotContains(t, text, "<b>")
	assert.Contains(t, get(t, h, "/?format=json", "text/html").Body.String(), `"holds"`)

	cancel()
	<-done
	require.NoError(t, unlock())
	require.NoError(t, leave())
	assert.Empty(t, page(t, h, "/debug/locks").Holds)
}

// A kept lock is told as what it is: held while somebody has it, and kept afterwards.
func TestThePageTellsWhatIsKept(t *testing.T) {
	t.Parallel()
	addr, name := redistest.Shared(t).Addr(), redistest.Key(t)
	client := newClient(t, addr)
	h := debuglocks.Handler(client)
	assert.NotNil(t, page(t, h, "/").Kept)
	assert.NotContains(t, get(t, h, "/", "text/html").Body.String(), "Kept by this process")
	require.NoError(t, rlock.New(client, name).Do(t.Context(), func(context.Context) error { return nil }))
	redistest.Eventually(t, 10*time.Second, func() bool { // it is idle for a second, which may be over by now
		var fence int64
		var id string
		lock := rlock.New(client, name, rlock.Keep(time.Second))
		require.NoError(t, lock.Do(t.Context(), func(ctx context.Context) error {
			hold, err := lock.Held(ctx)
			require.NoError(t, err)
			fence, id = hold.Fence, hold.ID
			p := page(t, h, "/")
			require.Len(t, p.Holds, 1)
			require.Empty(t, p.Kept)
			return nil
		}))
		p, text := page(t, h, "/?redis="+name), get(t, h, "/?redis="+name, "text/html").Body.String()
		const kept = "Kept by this process, and held by nobody: 1"
		if len(p.Kept) == 0 || len(p.Redis) == 0 || !strings.Contains(text, kept) {
			return false
		}
		require.Empty(t, p.Holds)
		require.Equal(t, debuglocks.Local{
			Name: name, Kind: "rlock", ID: id, Fence: fence, Since: p.Kept[0].Since, ValidUntil: p.Kept[0].ValidUntil,
		}, p.Kept[0])
		require.True(t, p.Kept[0].ValidUntil.After(p.Time))
		require.True(t, p.Redis[0].Kept)
		return strings.Contains(text, "1 (kept)")
	}, "it is told as kept")
}

func TestThePageTellsLocksInRedisWhenAsked(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	_, _, err := rlock.New(newClient(t, server.Addr()), "elsewhere").Lock(t.Context())
	require.NoError(t, err)
	h := debuglocks.Handler(newClient(t, server.Addr()))
	p := page(t, h, "/?redis=else*")
	require.Len(t, p.Redis, 1)
	assert.Equal(t, "elsewhere", p.Redis[0].Name)
	assert.Equal(t, 1, p.Redis[0].Held)
	assert.Empty(t, p.Holds)
	assert.Contains(t, get(t, h, "/?redis=else*", "text/html").Body.String(), "elsewhere")
	assert.Contains(t, get(t, h, "/?redis=none", "text/html").Body.String(), "none match")
}

func TestThePageOnlyReads(t *testing.T) {
	t.Parallel()
	w := httptest.NewRecorder()
	debuglocks.Handler().ServeHTTP(w, httptest.NewRequest(http.MethodPost, "/", nil))
	assert.Equal(t, http.StatusMethodNotAllowed, w.Code)
}

// Names that are not UTF-8 can be told apart in JSON (defect G53).
func TestThePageTellsOddNamesApart(t *testing.T) {
	t.Parallel()
	client := newClient(t, redistest.Start(t).Addr())
	h := debuglocks.Handler(client)
	for _, name := range []string{"caf\xe9", "caf\xea"} {
		_, _, err := rlock.New(client, name).Lock(t.Context())
		require.NoError(t, err)
	}
	p := page(t, h, "/?redis=*")
	require.Len(t, p.Holds, 2)
	require.Len(t, p.Redis, 2)
	for i, name := range []string{`"caf\xe9"`, `"caf\xea"`} {
		assert.Equal(t, name, p.Holds[i].Name)
		assert.Contains(t, []string{p.Redis[0].Name, p.Redis[1].Name}, name)
	}
}
