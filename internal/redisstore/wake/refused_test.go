package wake_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore/wake"
	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
)

// A hub whose user may not listen says so, asks again after a pause, and listens when the right is granted.
// This is defect G45.
func TestASubscriptionThatIsRefusedStandsWhenTheRightIsGranted(t *testing.T) {
	server := redistest.Start(t)
	admin := server.Client(t)
	require.NoError(t, admin.Do(t.Context(), "ACL", "SETUSER", "mute", "on", ">secret", "+@all", "resetchannels").Err())
	opts := options(server.Addr())
	opts.Username, opts.Password = "mute", "secret"
	refused, stands := make(chan struct{}, 1), make(chan struct{}, 1)
	hub := newHub(t, opts, func(c *wake.Config) {
		c.Denied = 10 * time.Millisecond
		c.Refused, c.Stands = func() { note(refused) }, func() { note(stands) }
	})
	ticket := hub.Listen("a")
	for range 2 {
		comes(t, refused, "a refusal")
	}
	require.Empty(t, stands)
	require.NoError(t, admin.Do(t.Context(), "ACL", "SETUSER", "mute", "&a").Err())
	comes(t, stands, "the subscription")
	woken(t, ticket, "the subscription")
	ticket.Leave()
}

func note(c chan struct{}) {
	select {
	case c <- struct{}{}:
	default:
	}
}

func comes(t *testing.T, c <-chan struct{}, what string) {
	t.Helper()
	select {
	case <-c:
	case <-time.After(time.Minute):
		require.FailNow(t, "there is not: "+what)
	}
}
