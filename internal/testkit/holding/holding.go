// Package holding has what the tests of locks do alike, whatever the store is: they take locks within a bound, and wait
// until holds end, or were renewed.
package holding

import (
	"context"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/servers"
	"github.com/holdfast-go/holdfast/lock"
)

// Patience bounds every wait for something that must happen. Nothing is measured against it.
const Patience = time.Minute

// Name is a lock's name that no other test has, without a slash.
func Name(t testing.TB) string { return strings.ReplaceAll(servers.Key(t), "/", "-") }

// Within is a context that ends with the test, and with [Patience].
func Within(t testing.TB) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), Patience)
	t.Cleanup(cancel)
	return ctx
}

// Take takes a lock.
func Take(t testing.TB, l *lock.Lock) (context.Context, func() error) {
	t.Helper()
	held, unlock, err := l.Lock(Within(t))
	require.NoError(t, err)
	return held, unlock
}

// Taken takes a lock and gives it back.
func Taken(t testing.TB, l *lock.Lock) {
	t.Helper()
	_, unlock := Take(t, l)
	require.NoError(t, unlock())
}

// Fence is the token of a hold.
func Fence(t testing.TB, l *lock.Lock, held context.Context) int64 {
	t.Helper()
	hold, err := l.Held(held)
	require.NoError(t, err)
	return hold.Fence
}

// Ended waits for the end of a context, and returns its cause.
func Ended(t testing.TB, ctx context.Context) error {
	t.Helper()
	servers.Receive(t, Patience, ctx.Done(), "the context ends")
	return context.Cause(ctx)
}

// Renewals counts how often the holds of each name were renewed, by all clients that have its observer. The zero value
// has counted nothing.
type Renewals struct {
	mu sync.Mutex // guards of
	of map[string]int
}

// Observer is for the options of a client.
func (r *Renewals) Observer() *lock.Observer {
	return &lock.Observer{Renewed: func(one lock.Renewal) {
		r.mu.Lock()
		defer r.mu.Unlock()
		if one.Err != nil {
			return
		}
		if r.of == nil {
			r.of = make(map[string]int)
		}
		r.of[one.Name]++
	}}
}

// Least is how often the name was renewed that was renewed least.
func (r *Renewals) Least(names []string) int {
	r.mu.Lock()
	defer r.mu.Unlock()
	least := math.MaxInt
	for _, name := range names {
		least = min(least, r.of[name])
	}
	return least
}

// Outlast waits until each of the names has been renewed for longer than a lease, which has three renewals.
func (r *Renewals) Outlast(t testing.TB, names ...string) {
	t.Helper()
	r.mu.Lock()
	clear(r.of)
	r.mu.Unlock()
	servers.Eventually(t, Patience, func() bool { return r.Least(names) > 3 },
		"every hold is renewed for longer than a lease")
}
