package prometheus_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/observe/prometheus"
	"github.com/holdfast-go/holdfast/rlock"
)

func TestMain(m *testing.M) { redistest.Main(m) }

// A lock on a server, as a program measures it.
func TestRenewalsOnAServer(t *testing.T) {
	t.Parallel()
	m := prometheus.New(prometheus.Options{})
	locks, err := rlock.NewClient(redistest.Shared(t).Client(t),
		&rlock.ClientOptions{Lease: 3 * time.Second, Observer: m.Observer()})
	require.NoError(t, err)
	defer func() { assert.NoError(t, locks.Close()) }()
	_, unlock, err := rlock.New(locks, "order:1:"+redistest.Key(t)).Lock(t.Context())
	require.NoError(t, err)
	redistest.Eventually(t, time.Minute, func() bool {
		for labels, n := range values(gather(t, m)["renewals_total"]) {
			if n > 0 {
				assert.Regexp(t, `^order:\*:.* rlock ok redis$`, labels)
				return true
			}
		}
		return false
	}, "no renewal is counted")
	commands := values(gather(t, m)["command_duration_seconds"])
	assert.NotZero(t, commands["ok renew redis"])
	assert.NotZero(t, commands["ok acquire redis"])
	require.NoError(t, unlock())
}

// Everything that happens to a lock, from the wait to the loss, counts once.
func TestCallsAndHoldsOnAServer(t *testing.T) {
	t.Parallel()
	m := prometheus.New(prometheus.Options{Class: func(string) string { return "order" }})
	locks, err := rlock.NewClient(redistest.Shared(t).Client(t), &rlock.ClientOptions{Observer: m.Observer()})
	require.NoError(t, err)
	defer func() { assert.NoError(t, locks.Close()) }()
	defer m.Track(locks)()
	order := rlock.New(locks, redistest.Key(t))
	_, unlock, err := order.Lock(t.Context())
	require.NoError(t, err)
	assert.Equal(t, map[string]float64{"order rlock redis": 1}, values(gather(t, m)["held"]))
	assert.Positive(t, values(gather(t, m)["least_validity_seconds"])["redis"])
	_, _, err = order.TryLock(t.Context())
	require.ErrorIs(t, err, rlock.ErrBusy)
	require.NoError(t, unlock())
	held, unlock, err := order.Lock(t.Context())
	require.NoError(t, err)
	require.NoError(t, order.Break(t.Context()))
	<-held.Done()
	require.ErrorIs(t, unlock(), rlock.ErrLost)
	redistest.Eventually(t, time.Minute, func() bool {
		return values(gather(t, m)["losses_total"])["order rlock gone redis"] == 1
	}, "the loss is not counted")
	all := gather(t, m)
	assert.Equal(t, map[string]float64{
		"order rlock held redis": 2, "order rlock busy redis": 1,
	}, values(all["wait_duration_seconds"]))
	assert.Equal(t, map[string]float64{
		"order rlock released redis": 1, "order rlock lost redis": 1,
	}, values(all["hold_duration_seconds"]))
	assert.Equal(t, map[string]float64{"order rlock redis": 0}, values(all["held"]))
	assert.Equal(t, map[string]float64{"order rlock redis": 0}, values(all["waiting"]))
}

// On a server that was just started every script is sent twice, the second time in full. None has failed (defect F22):
// each deployment raised an alert.
func TestAScriptThatAServerDoesNotKnowYetIsNoError(t *testing.T) {
	t.Parallel()
	server, m := redistest.Start(t), prometheus.New(prometheus.Options{})
	locks, err := rlock.NewClient(server.Client(t), &rlock.ClientOptions{Observer: m.Observer()})
	require.NoError(t, err)
	_, unlock, err := rlock.New(locks, "order:1").Lock(t.Context())
	require.NoError(t, err)
	require.NoError(t, unlock())
	require.NoError(t, locks.Close())
	commands := values(gather(t, m)["command_duration_seconds"])
	assert.NotZero(t, commands["ok acquire redis"])
	for labels := range commands {
		assert.NotContains(t, labels, "error")
	}
}
