package browser

import (
	"bytes"
	"context"
	"flag"
	"image/png"
	"net/http"
	"net/http/httptest"
	"os"
	"strconv"
	"sync/atomic"
	"testing"

	"github.com/redis/go-redis/v9"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/observe/debuglocks"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/rwlock"
	"github.com/holdfast-go/holdfast/semaphore"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// write is where the picture of the page goes, for the documentation.
var write = flag.String("picture", "", "`file` for the picture of the page")

// site is a process with locks that serves the page.
type site struct {
	*httptest.Server
	client *rlock.Client
	asked  atomic.Int64 // requests for the page
	ill    atomic.Bool  // every request fails
}

func serve(t *testing.T, addr string) *site {
	t.Helper()
	s := &site{client: newClient(t, addr)}
	page := debuglocks.Handler(s.client)
	s.Server = httptest.NewServer(http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
		if r.URL.Path != "/debug/locks" {
			w.WriteHeader(http.StatusNoContent) // such as the icon, which the browser asks for
			return
		}
		s.asked.Add(1)
		if s.ill.Load() {
			w.WriteHeader(http.StatusServiceUnavailable)
			return
		}
		page.ServeHTTP(w, r)
	}))
	t.Cleanup(s.Close)
	return s
}

func newClient(t *testing.T, addr string) *rlock.Client {
	t.Helper()
	rdb := redis.NewClient(&redis.Options{Addr: addr})
	t.Cleanup(func() { _ = rdb.Close() })
	client, err := rlock.NewClient(rdb, nil)
	require.NoError(t, err)
	t.Cleanup(func() { _ = client.Close() })
	return client
}

func (s *site) awaitRefreshes(t *testing.T, n int64) {
	t.Helper()
	seen := s.asked.Load()
	redistest.Eventually(t, limit, func() bool { return s.asked.Load() >= seen+n }, "the page is refreshed")
}

func lock(t *testing.T, l rlock.Locker) {
	t.Helper()
	_, _, err := l.Lock(t.Context())
	require.NoError(t, err)
}

// wait begins to wait for a lock, until the test ends.
func wait(t *testing.T, l *rlock.Lock) {
	t.Helper()
	ctx, cancel := context.WithCancel(t.Context())
	ended := make(chan struct{})
	go func() {
		defer close(ended)
		_, _, _ = l.Lock(ctx) // it ends with ctx
	}()
	t.Cleanup(func() { cancel(); <-ended })
}

// The page in a real browser: it shows what is held, refreshes itself, and lets an operator type meanwhile.
func TestThePageInABrowser(t *testing.T) {
	t.Parallel()
	server := redistest.Start(t)
	s := serve(t, server.Addr())
	l := rlock.New(s.client, "order:1001")
	held, _, err := l.Lock(t.Context())
	require.NoError(t, err)
	hold, err := l.Held(held)
	require.NoError(t, err)

	b := open(t)
	b.visit(s.URL + "/debug/locks")
	b.sees("holds", "order:1001")
	b.sees("holds", strconv.FormatInt(hold.Fence, 10))

	// It refreshes: what happens later is shown, without a reload.
	b.eval("window.marked = 'yes'")
	lock(t, rlock.New(s.client, `<img src=x onerror="window.marked='no'">`))
	wait(t, l)
	b.sees("holds", "<img src=x")
	b.sees("waiters", "order:1001")
	assert.Equal(t, "yes", b.eval("window.marked"), "names are text, and the page was not loaded again")

	// What is typed survives refreshes, and the list is of the pattern.
	lock(t, rlock.New(newClient(t, server.Addr()), "elsewhere:1"))
	b.eval("document.querySelector('input').focus()")
	b.types("else")
	s.awaitRefreshes(t, 2)
	b.types("where:*\n")
	b.sees("redis", "elsewhere:1")
	lock(t, rlock.New(newClient(t, server.Addr()), "elsewhere:2"))
	b.sees("redis", "elsewhere:2")
	assert.Equal(t, "false", b.eval("document.getElementById('redis').innerText.includes('order:1001')"))
	assert.Equal(t, "elsewhere:*", b.eval("document.querySelector('input').value"))

	// Without Redis it goes on to tell what this process holds.
	b.visit(s.URL + "/debug/locks")
	server.Stop()
	s.awaitRefreshes(t, 2)
	b.sees("holds", "order:1001")
	server.Continue()
	assert.Empty(t, b.errors(), "such as a policy that forbids the page's own script")

	// An old page says that it is old, until there is an answer again.
	s.ill.Store(true)
	b.await("document.body.innerText.includes('this is old')")
	s.ill.Store(false)
	b.await("!document.body.innerText.includes('this is old')")
	b.sees("holds", "order:1001")
}

// A selection stays, so that an id can be copied.
func TestASelectionOnThePageStays(t *testing.T) {
	t.Parallel()
	s := serve(t, redistest.Start(t).Addr())
	lock(t, rlock.New(s.client, "order:1001"))
	b := open(t)
	b.visit(s.URL + "/debug/locks")
	b.sees("holds", "order:1001")
	b.eval("getSelection().selectAllChildren(document.getElementById('holds'))")
	lock(t, rlock.New(s.client, "order:1002"))
	b.eval("window.passed = 0, setInterval(() => window.passed++, 1000)")
	b.await("window.passed >= 5") // more than two refreshes later
	assert.Contains(t, b.eval("getSelection().toString()"), "order:1001")
	b.eval("getSelection().removeAllRanges()")
	b.sees("holds", "order:1002")
}

// The picture in the documentation is of a real page:
//
//	go test ./integration/browser -run Picture -picture "$PWD/docs/debuglocks.png"
func TestThePictureOfThePage(t *testing.T) {
	t.Parallel()
	addr := redistest.Start(t).Addr()
	s := serve(t, addr)
	order := rlock.New(s.client, "order:1001")
	lock(t, order)
	wait(t, order)
	lock(t, rwlock.New(s.client, "catalog").Read())
	printers := semaphore.New(s.client, "printers")
	require.NoError(t, printers.SetCapacity(t.Context(), 3))
	_, _, err := printers.Acquire(t.Context(), 1)
	require.NoError(t, err)
	elsewhere := newClient(t, addr)
	lock(t, rlock.New(elsewhere, "order:1002"))
	wait(t, rlock.New(elsewhere, "order:1001"))

	b := open(t)
	b.visit(s.URL + "/debug/locks?redis=order:*")
	b.sees("holds", "printers")
	b.sees("waiters", "order:1001")
	b.await(`/order:1001\s+rlock\s+1\s+1\s/.test(document.getElementById("redis")?.innerText)`)
	picture := b.picture()
	_, err = png.Decode(bytes.NewReader(picture))
	require.NoError(t, err)
	assert.Less(t, len(picture), 100_000)
	if *write != "" {
		require.NoError(t, os.WriteFile(*write, picture, 0o600))
	}
}
