package otel_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/observe/otel"
	"github.com/holdfast-go/holdfast/rlock"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// A lock on a server, as a program measures it.
func TestRenewalsOnAServer(t *testing.T) {
	t.Parallel()
	l := newLab(t, otel.Options{})
	locks, err := rlock.NewClient(redistest.Shared(t).Client(t),
		&rlock.ClientOptions{Lease: 3 * time.Second, Observer: l.Observer()})
	require.NoError(t, err)
	defer func() { assert.NoError(t, locks.Close()) }()
	_, unlock, err := rlock.New(locks, "order:1:"+redistest.Key(t)).Lock(t.Context())
	require.NoError(t, err)
	redistest.Eventually(t, time.Minute, func() bool {
		for class, n := range values(l.metrics(t)["renewals"]) {
			if n > 0 {
				assert.Regexp(t, `^order:\*:.* rlock ok redis$`, class)
				return true
			}
		}
		return false
	}, "no renewal is counted")
	require.NoError(t, unlock())
}

// A wait is a span, and a loss is an event of the span that holds.
func TestCallsAndHoldsOnAServer(t *testing.T) {
	t.Parallel()
	l := newLab(t, otel.Options{Class: func(string) string { return "order" }, HoldSpans: true})
	locks, err := rlock.NewClient(redistest.Shared(t).Client(t), &rlock.ClientOptions{Observer: l.Observer()})
	require.NoError(t, err)
	defer func() { assert.NoError(t, locks.Close()) }()
	order := rlock.New(locks, redistest.Key(t))
	held, unlock, err := order.Lock(t.Context())
	require.NoError(t, err)
	require.NoError(t, order.Break(t.Context()))
	<-held.Done()
	require.ErrorIs(t, unlock(), rlock.ErrLost)
	redistest.Eventually(t, time.Minute, func() bool { return len(l.spans.Ended()) == 2 }, "a span does not end")
	wait, hold := l.spans.Ended()[0], l.spans.Ended()[1]
	assert.Equal(t, "holdfast.wait", wait.Name())
	assert.Equal(t, order.Name(), attributes(wait.Attributes())["name"])
	assert.NotEmpty(t, attributes(wait.Attributes())["fence"])
	assert.Equal(t, "holdfast.hold", hold.Name())
	assert.Equal(t, "lost", attributes(hold.Attributes())["outcome"])
	require.Len(t, hold.Events(), 1)
	measured := l.metrics(t)
	assert.Equal(t, map[string]float64{"order rlock held redis": 1}, values(measured["wait.duration"]))
	assert.Equal(t, map[string]float64{"order rlock lost redis": 1}, values(measured["hold.duration"]))
	assert.Equal(t, map[string]float64{"order rlock redis": 0}, values(measured["held"]))
}

// On a server that was just started every script is sent twice, the second time in full. None has failed (defect F22):
// each deployment raised an alert.
func TestAScriptThatAServerDoesNotKnowYetIsNoError(t *testing.T) {
	t.Parallel()
	server, l := redistest.Start(t), newLab(t, otel.Options{})
	locks, err := rlock.NewClient(server.Client(t), &rlock.ClientOptions{Observer: l.Observer()})
	require.NoError(t, err)
	_, unlock, err := rlock.New(locks, "order:1").Lock(t.Context())
	require.NoError(t, err)
	require.NoError(t, unlock())
	require.NoError(t, locks.Close())
	unknown, err := server.Client(t).InfoMap(t.Context(), "errorstats").Result()
	require.NoError(t, err)
	require.Contains(t, unknown["Errorstats"], "errorstat_NOSCRIPT")
	measured := values(l.metrics(t)["command.duration"])
	require.Positive(t, measured["ok acquire redis"])
	for attributes := range measured {
		require.NotContains(t, attributes, "error")
	}
}

// The type of an error says what is the matter (defect F22).
func TestTheTypeOfAnErrorOnAServer(t *testing.T) {
	t.Parallel()
	server, l := redistest.Start(t), newLab(t, otel.Options{})
	locks, err := rlock.NewClient(server.Client(t), &rlock.ClientOptions{Observer: l.Observer()})
	require.NoError(t, err)
	require.NoError(t, server.Client(t).Do(t.Context(), "ACL", "SETUSER", "default", "-evalsha").Err())
	_, _, err = rlock.New(locks, "order:1").TryLock(t.Context())
	require.ErrorIs(t, err, rlock.ErrUnavailable)
	require.NoError(t, locks.Close())
	require.Contains(t, values(l.metrics(t)["command.duration"]), "denied error acquire redis")
}
