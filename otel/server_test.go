package otel_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redistest"
	"github.com/holdfast-go/holdfast/otel"
	"github.com/holdfast-go/holdfast/rlock"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// A lock on a server, as a program measures it.
func TestRenewalsOnAServer(t *testing.T) {
	t.Parallel()
	l := newLab(t, otel.Options{})
	locks, err := rlock.NewClient(redistest.Shared(t).Client(t),
		&rlock.ClientOptions{Lease: 300 * time.Millisecond, Observer: l.Observer()})
	require.NoError(t, err)
	defer func() { assert.NoError(t, locks.Close()) }()
	_, unlock, err := rlock.New(locks, "order:1:"+redistest.Key(t)).Lock(t.Context())
	require.NoError(t, err)
	redistest.Eventually(t, time.Minute, func() bool {
		for class, n := range values(l.metrics(t)["renewals"]) {
			if n > 0 {
				assert.Regexp(t, `^order:\*:`, class)
				return true
			}
		}
		return false
	}, "no renewal is counted")
	require.NoError(t, unlock())
}
