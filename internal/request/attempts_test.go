package request

import (
	"errors"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/store"
)

// Interleaving 7: what is unknown about an id goes back to its first request, and ends with its last.
func TestDoubtSpansAllRequests(t *testing.T) {
	const s = time.Second
	var a Attempts
	require.False(t, a.InDoubt())
	require.Equal(t, 4*s, a.Since(4*s), "nothing came before")
	a.Lost(store.Receipt{Since: 5 * s, Late: 1000})
	require.True(t, a.InDoubt())
	require.Equal(t, 5*s, a.Since(9*s))
	require.EqualValues(t, 1000, a.Late())
	a.Lost(store.Receipt{Since: 7 * s, Late: 3000})
	a.Lost(store.Receipt{Since: 9 * s, Late: 2000})
	require.Equal(t, 5*s, a.Since(10*s))
	require.EqualValues(t, 3000, a.Late())
	a.HandOver()
	require.Equal(t, Attempts{}, a)
}

// A request that was refused took nothing, but for a copy of it. One before it that had no answer may have taken
// something that the refused one could not see, for as long as that lasts. The store has answered since then, though.
func TestARefusalSettlesNothingBeforeIt(t *testing.T) {
	const s = time.Second
	const span = 10 * s
	var a Attempts
	a.Refused(store.Receipt{Since: 4 * s, Late: 500}, span)
	require.Zero(t, a.Silence(9*s))
	a.Lost(store.Receipt{Since: 5 * s, Late: 1000})
	require.Equal(t, 4*s, a.Silence(9*s))
	a.Refused(store.Receipt{Since: 6 * s, Late: 2000}, span)
	require.Equal(t, 5*s, a.Since(9*s))
	require.Equal(t, 5*s, a.SinceAny(9*s))
	require.Equal(t, 3*s, a.Silence(9*s))
	require.EqualValues(t, 1000, a.Late(), "the first may still come")
	require.EqualValues(t, 2000, a.CopyLate())

	a.Lost(store.Receipt{Since: 7 * s, Late: 2500})
	a.Refused(store.Receipt{Since: 16 * s, Late: 3000}, span)
	require.Equal(t, 5*s, a.Since(20*s), "what the second took may last")
	a.Refused(store.Receipt{Since: 18 * s, Late: 3000}, span)
	require.Equal(t, 18*s, a.Since(20*s), "nothing does")
	a.Lost(store.Receipt{Since: 19 * s, Late: 4000})
	require.Equal(t, 18*s, a.Since(20*s))
	require.True(t, a.InDoubt())

	a.HandOver()
	require.False(t, a.InDoubt())
	require.Equal(t, 30*s, a.Since(30*s))
	require.Equal(t, 18*s, a.SinceAny(30*s), "the copy of a refused request")
	require.EqualValues(t, 3000, a.CopyLate())
}

// What is unknown when a caller has left depends on what its last request ended with.
func TestAttemptsAfterTheCallerLeft(t *testing.T) {
	sent, lost := store.Receipt{Since: time.Second, Late: 1000}, &store.Failure{Fault: store.FaultAmbiguous, Err: errors.New("no")}
	var a Attempts
	require.True(t, a.After(sent, lost).lost)
	require.False(t, a.After(sent, nil).lost)
	require.False(t, a.After(sent, store.ErrUnsent).lost)
	require.False(t, a.InDoubt(), "it is another one's")
}
