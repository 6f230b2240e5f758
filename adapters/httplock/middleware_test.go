package httplock_test

import (
	"bytes"
	"context"
	"errors"
	"log/slog"
	"net/http"
	"net/http/httptest"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/adapters/httplock"
	"github.com/holdfast-go/holdfast/holdfasttest"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/lock"
	"github.com/holdfast-go/holdfast/rlock"
)

// always locks l.
func always(l *rlock.Lock, handler http.HandlerFunc) http.Handler {
	return httplock.Middleware(func(*http.Request) lock.Locker { return l })(handler)
}

func request(ctx context.Context) *http.Request {
	return httptest.NewRequestWithContext(ctx, http.MethodPost, "/", nil)
}

// served is the answer of a handler.
func served(h http.Handler, r *http.Request) *httptest.ResponseRecorder {
	w := httptest.NewRecorder()
	h.ServeHTTP(w, r)
	return w
}

func TestTheHandlerHasTheHold(t *testing.T) {
	t.Parallel()
	lab := holdfasttest.New(t)
	l := rlock.New(lab.Client(nil), "a")
	h := always(l, func(w http.ResponseWriter, r *http.Request) {
		_, err := l.Held(r.Context())
		assert.NoError(t, err)
		w.WriteHeader(http.StatusTeapot)
	})
	require.Equal(t, http.StatusTeapot, served(h, request(t.Context())).Code)
	_, unlock, err := l.TryLock(t.Context())
	require.NoError(t, err, "released")
	require.NoError(t, unlock())

	none := httplock.Middleware(func(*http.Request) lock.Locker { return nil })(http.HandlerFunc(
		func(_ http.ResponseWriter, r *http.Request) {
			_, err := l.Held(r.Context())
			assert.ErrorIs(t, err, lock.ErrNotHeld)
		}))
	require.Equal(t, http.StatusOK, served(none, request(t.Context())).Code)
}

// A request has a hold of its own, though its context carries one.
func TestRequestsExcludeOneAnother(t *testing.T) {
	t.Parallel()
	lab := holdfasttest.New(t)
	l := rlock.New(lab.Client(nil), "a", rlock.MaxWait(500*time.Millisecond))
	h := always(l, func(http.ResponseWriter, *http.Request) { t.Error("inside") })
	require.NoError(t, l.Do(t.Context(), func(ctx context.Context) error {
		w := served(h, request(ctx))
		require.Equal(t, http.StatusLocked, w.Code)
		require.Equal(t, "1", w.Header().Get("Retry-After"))
		require.NotContains(t, w.Body.String(), "rlock")
		return nil
	}))
}

func TestWhenTheLockIsNotToBeHad(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lab := holdfasttest.New(t)
		client := lab.Client(nil)
		h := always(rlock.New(client, "a"), func(http.ResponseWriter, *http.Request) { t.Error("inside") })
		release := lab.HoldElsewhere("a")

		late, end := context.WithTimeout(t.Context(), time.Minute)
		defer end()
		require.Equal(t, http.StatusLocked, served(h, request(late)).Code)

		leaves, leave := context.WithCancel(t.Context())
		time.AfterFunc(time.Minute, leave)
		w := served(h, request(leaves))
		require.Zero(t, w.Body.Len())
		require.Empty(t, w.Header())

		release()
		lab.Freeze()
		require.Equal(t, http.StatusServiceUnavailable, served(h, request(t.Context())).Code)
		lab.Thaw()
		require.Equal(t, http.StatusInternalServerError,
			served(always(rlock.New(client, ""), nil), request(t.Context())).Code)
		require.NoError(t, client.Close())
		require.Equal(t, http.StatusServiceUnavailable, served(h, request(t.Context())).Code)
	})
}

// OnRefusal tells why a request was refused, which its answer does not say (defect F23).
func TestTheCauseOfARefusalIsTold(t *testing.T) {
	t.Parallel()
	synctest.Test(t, func(t *testing.T) {
		lab := holdfasttest.New(t)
		l := rlock.New(lab.Client(nil), "a", rlock.MaxWait(time.Second))
		var told []error
		var statuses []int
		h := httplock.Middleware(func(*http.Request) lock.Locker { return l }, nil,
			httplock.OnRefusal(func(r *http.Request, status int, err error) {
				require.Equal(t, "/", r.URL.Path)
				statuses, told = append(statuses, status), append(told, err)
			}))(http.HandlerFunc(func(http.ResponseWriter, *http.Request) {}))
		require.Equal(t, http.StatusOK, served(h, request(t.Context())).Code)
		require.Empty(t, told)
		release := lab.HoldElsewhere("a")
		require.Equal(t, http.StatusLocked, served(h, request(t.Context())).Code)
		release()
		lab.Freeze()
		w := served(h, request(t.Context()))
		require.Equal(t, http.StatusServiceUnavailable, w.Code)
		require.NotContains(t, w.Body.String(), "rlock")
		lab.Thaw()
		require.Equal(t, []int{http.StatusLocked, http.StatusServiceUnavailable}, statuses)
		require.ErrorIs(t, told[0], lock.ErrBusy)
		require.ErrorIs(t, told[1], lock.ErrUnavailable)
	})
}

// Without OnRefusal the default logger has the cause, but not of what is merely busy.
func TestTheDefaultLoggerHasTheCauseOfARefusal(t *testing.T) {
	before := slog.Default()
	defer slog.SetDefault(before)
	var log bytes.Buffer
	slog.SetDefault(slog.New(slog.NewTextHandler(&log, nil)))
	for err, status := range map[error]int{lock.ErrBusy: http.StatusLocked, lock.ErrClosed: http.StatusServiceUnavailable} {
		l := refusing{err}
		h := httplock.Middleware(func(*http.Request) lock.Locker { return l })(http.NotFoundHandler())
		require.Equal(t, status, served(h, request(t.Context())).Code)
	}
	require.Equal(t, 1, strings.Count(log.String(), "\n"))
	require.Contains(t, log.String(), "holdfast: httplock: a request was refused")
	require.Contains(t, log.String(), lock.ErrClosed.Error())
}

// refusing is a lock that nobody gets.
type refusing struct{ err error }

func (r refusing) Lock(ctx context.Context) (context.Context, func() error, error) {
	return ctx, func() error { return lock.ErrNotHeld }, r.err
}

func (r refusing) TryLock(ctx context.Context) (context.Context, func() error, error) {
	return r.Lock(ctx)
}
func (r refusing) Do(context.Context, func(context.Context) error) error { return r.err }

// The loss ends the handler's context. What it has written stands; if it wrote nothing, the answer is 503.
func TestALossWhileTheHandlerRuns(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		write func(w http.ResponseWriter)
		code  int
	}{
		"nothing written": {func(http.ResponseWriter) {}, 503},
		"a status":        {func(w http.ResponseWriter) { w.WriteHeader(http.StatusTeapot) }, 418},
		"a body":          {func(w http.ResponseWriter) { _, _ = w.Write([]byte("done")) }, 200},
		"a flush":         {func(w http.ResponseWriter) { w.(http.Flusher).Flush() }, 200},
		"a controller": {func(w http.ResponseWriter) {
			_ = http.NewResponseController(w).SetWriteDeadline(time.Time{})
			_, _ = w.Write(nil)
		}, 200},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			lab := holdfasttest.New(t)
			h := always(rlock.New(lab.Client(nil), "a"), func(w http.ResponseWriter, r *http.Request) {
				test.write(w)
				lab.Lose("a", rlock.LossGone)
				assert.ErrorIs(t, context.Cause(r.Context()), lock.ErrLost)
			})
			server := served(h, request(t.Context()))
			require.Equal(t, test.code, server.Code)
		})
	}
}

// The handler has done its work under the lock, and Redis does not confirm the release: that is no reason to send the
// request again, whether or not the handler wrote anything (defect F12).
func TestAnUnconfirmedReleaseChangesNoAnswer(t *testing.T) {
	t.Parallel()
	for _, status := range []int{0, http.StatusCreated} {
		synctest.Test(t, func(t *testing.T) {
			lab := holdfasttest.New(t)
			ran := false
			l := rlock.New(lab.Client(nil), "a", rlock.FixedLease(time.Minute))
			h := always(l, func(w http.ResponseWriter, _ *http.Request) {
				ran = true
				lab.Freeze()
				if status > 0 {
					w.WriteHeader(status)
				}
			})
			answer := served(h, request(t.Context()))
			require.Equal(t, max(status, http.StatusOK), answer.Code)
			require.Empty(t, answer.Header().Get("Retry-After"))
			require.True(t, ran)
			lab.Thaw()
			time.Sleep(time.Minute)
		})
	}
}

// A handler that panics releases the lock, and net/http gets the panic.
func TestAPanic(t *testing.T) {
	t.Parallel()
	lab := holdfasttest.New(t)
	l := rlock.New(lab.Client(nil), "a")
	h := always(l, func(http.ResponseWriter, *http.Request) { panic("oops") })
	require.PanicsWithValue(t, "oops", func() { served(h, request(t.Context())) })
	_, unlock, err := l.TryLock(t.Context())
	require.NoError(t, err)
	require.NoError(t, unlock())
}

// On real servers: two processes serve one name, one request at a time; a client that leaves waits no longer.
func TestServers(t *testing.T) {
	t.Parallel()
	var inside atomic.Int32
	var urls []string
	name := redistest.Key(t)
	var clients []*rlock.Client
	var locks []*rlock.Lock
	for range 2 {
		client, err := rlock.NewClient(redistest.Shared(t).Client(t), nil)
		require.NoError(t, err)
		t.Cleanup(func() { assert.NoError(t, client.Close()) })
		clients, locks = append(clients, client), append(locks, rlock.New(client, name))
		server := httptest.NewServer(always(locks[len(locks)-1], func(http.ResponseWriter, *http.Request) {
			assert.EqualValues(t, 1, inside.Add(1))
			inside.Add(-1)
		}))
		t.Cleanup(server.Close)
		urls = append(urls, server.URL)
	}
	web := &http.Client{Transport: &http.Transport{}}
	t.Cleanup(web.CloseIdleConnections)
	get := func(ctx context.Context, url string) (int, error) {
		r, err := http.NewRequestWithContext(ctx, http.MethodGet, url, nil)
		if err != nil {
			return 0, err
		}
		response, err := web.Do(r)
		if err != nil {
			return 0, err
		}
		return response.StatusCode, response.Body.Close()
	}
	var all sync.WaitGroup
	for i := range 20 {
		all.Go(func() {
			code, err := get(t.Context(), urls[i%2])
			assert.NoError(t, err)
			assert.Equal(t, http.StatusOK, code)
		})
	}
	all.Wait()

	require.NoError(t, locks[0].Do(t.Context(), func(ctx context.Context) error {
		leaves, leave := context.WithCancel(t.Context())
		left := make(chan error)
		go func() {
			_, err := get(leaves, urls[1])
			left <- err
		}()
		redistest.Eventually(t, 30*time.Second, func() bool { return clients[1].Stats().Waiters == 1 }, "it waits")
		leave()
		require.ErrorIs(t, <-left, context.Canceled)
		redistest.Eventually(t, 30*time.Second, func() bool {
			info, err := locks[1].Inspect(ctx)
			return err == nil && len(info.Queue) == 0
		}, "nobody waits any more")
		return nil
	}))
}

func TestStatus(t *testing.T) {
	t.Parallel()
	for _, test := range []struct {
		err  error
		code int
	}{
		{nil, 200},
		{lock.ErrBusy, 423},
		{errors.Join(lock.ErrBusy, context.DeadlineExceeded), 423},
		{errors.Join(lock.ErrUnavailable, context.DeadlineExceeded), 503},
		{context.DeadlineExceeded, 503},
		{&lock.LostError{Name: "a"}, 503},
		{lock.ErrClosed, 503},
		{&lock.ReleaseError{Name: "a", Err: lock.ErrUnavailable}, 200},
		{errors.Join(&lock.ReleaseError{Name: "a"}, &lock.ReleaseError{Name: "b"}), 200},
		{errors.Join(&lock.ReleaseError{Name: "a"}, &lock.LostError{Name: "b"}), 503},
		{errors.Join(errors.New("the work failed"), &lock.ReleaseError{Name: "a"}), 500},
		{&lock.ArgumentError{Name: "name"}, 500},
		{lock.ErrKeyConflict, 500},
	} {
		assert.Equal(t, test.code, httplock.Status(test.err), "%v", test.err)
	}
}
