package httplock

import (
	"context"
	"errors"
	"log/slog"
	"net/http"

	"github.com/holdfast-go/holdfast/internal/vocabulary"
	"github.com/holdfast-go/holdfast/lock"
)

// Middleware returns a function that wraps a handler: each request takes the lock that key returns for it, and waits
// for it as long as the request's context and the lock's MaxWait allow. With a nil lock the request takes none.
func Middleware(key func(r *http.Request) lock.Locker, opts ...Option) func(next http.Handler) http.Handler {
	o := options{refused: logRefusal}
	for _, opt := range opts {
		if opt != nil {
			opt(&o)
		}
	}
	return func(next http.Handler) http.Handler {
		return http.HandlerFunc(func(w http.ResponseWriter, r *http.Request) {
			l := key(r)
			if l == nil {
				next.ServeHTTP(w, r)
				return
			}
			o.serve(l, next, w, r)
		})
	}
}

// Option adjusts a middleware.
type Option func(*options)

type options struct {
	refused func(r *http.Request, status int, err error)
}

// OnRefusal has fn told of each request that the middleware answers in the handler's place: with which status, and
// why. It runs in the request's goroutine, before the answer. Without it, or with nil, slog's default logger gets a
// warning for each answer but 423, which needs no cause.
func OnRefusal(fn func(r *http.Request, status int, err error)) Option {
	return func(o *options) {
		if fn != nil {
			o.refused = fn
		}
	}
}

func logRefusal(r *http.Request, status int, err error) {
	if status != http.StatusLocked {
		slog.WarnContext(r.Context(), "holdfast: httplock: a request was refused", "status", status, "error", err)
	}
}

func (o *options) serve(l lock.Locker, next http.Handler, w http.ResponseWriter, r *http.Request) {
	out := &response{ResponseWriter: w}
	ran := false
	err := l.Do(lock.WithoutHolds(r.Context()), func(ctx context.Context) error {
		ran = true
		next.ServeHTTP(out, r.WithContext(ctx))
		return nil
	})
	switch {
	case err == nil:
	case ran && !errors.Is(err, lock.ErrLost) && !errors.Is(err, lock.ErrClosed):
		// The handler's answer stands: the hold was valid to its end. Only its release is unconfirmed.
	case out.wrote: // the handler's answer stands; it has seen its context end
	default:
		o.refuse(w, r, err)
	}
}

// refuse answers a request whose handler did not run, or ran without a valid lock and wrote nothing.
func (o *options) refuse(w http.ResponseWriter, r *http.Request, err error) {
	if errors.Is(r.Context().Err(), context.Canceled) {
		return // the client left; net/http would answer 200 to nobody
	}
	status := Status(err)
	o.refused(r, status, err)
	if status == http.StatusLocked || status == http.StatusServiceUnavailable {
		w.Header().Set("Retry-After", "1")
	}
	http.Error(w, http.StatusText(status), status)
}

// Status is the HTTP status that says what an error of a lock means to the client of a request: 200 for nil, and for a
// release that is unconfirmed, because the work was done; 423 for a busy lock, 503 for a lost one, a closed client, a
// store that does not answer and a context that ended, and otherwise 500. An error of the work that Do joined with an
// unconfirmed release is 500 as well. Texts of errors name locks, so do not send them to clients.
func Status(err error) int {
	switch {
	case err == nil, vocabulary.OnlyUnconfirmed(err):
		return http.StatusOK
	case errors.Is(err, lock.ErrLost), errors.Is(err, lock.ErrUnavailable), errors.Is(err, lock.ErrClosed):
		return http.StatusServiceUnavailable
	case errors.Is(err, lock.ErrBusy):
		return http.StatusLocked
	case errors.Is(err, context.DeadlineExceeded), errors.Is(err, context.Canceled):
		return http.StatusServiceUnavailable
	}
	return http.StatusInternalServerError
}

// response notes whether anything of an answer was written.
type response struct {
	http.ResponseWriter
	wrote bool
}

// WriteHeader implements http.ResponseWriter. An informational answer, such as 103, is not yet the answer.
func (w *response) WriteHeader(status int) {
	w.wrote = w.wrote || status >= http.StatusOK || status == http.StatusSwitchingProtocols
	w.ResponseWriter.WriteHeader(status)
}

// Write implements http.ResponseWriter.
func (w *response) Write(p []byte) (int, error) {
	w.wrote = true
	return w.ResponseWriter.Write(p)
}

// Flush implements http.Flusher.
func (w *response) Flush() {
	w.wrote = true
	_ = http.NewResponseController(w.ResponseWriter).Flush() // http.Flusher returns no error
}

// Unwrap returns the writer for http.ResponseController, with which a handler flushes, hijacks and sets deadlines.
func (w *response) Unwrap() http.ResponseWriter {
	w.wrote = true // what is done with it is not seen here
	return w.ResponseWriter
}
