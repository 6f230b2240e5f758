package rlock_test

import (
	"errors"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/rlock"
)

// What the error says is for people: it names the lock, the matter and the cause, on one line.
func TestErrorTexts(t *testing.T) {
	t.Parallel()
	lost := &rlock.LostError{Name: "a\nb", Reason: rlock.LossGone, Err: errors.New("why")}
	require.ErrorIs(t, lost, rlock.ErrLost)
	require.NotErrorIs(t, lost, rlock.ErrBusy)
	require.EqualError(t, lost.Unwrap(), "why")
	require.NotContains(t, lost.Error(), "\n")
	for _, part := range []string{`"a\nb"`, rlock.LossGone.String(), "why"} {
		require.ErrorContains(t, lost, part)
	}
	said := make(map[string]bool)
	for _, reason := range []rlock.LossReason{rlock.LossExpired, rlock.LossGone, rlock.LossMaxHold, 0, 9} {
		require.NotEmpty(t, reason.String())
		require.False(t, said[reason.String()])
		said[reason.String()] = true
	}
	require.EqualError(t, &rlock.ArgumentError{Name: "fn", Problem: "must not be nil"},
		"rlock: fn must not be nil")
	require.EqualError(t, &rlock.ArgumentError{Name: "x", Value: 3, Problem: "must be 4"},
		"rlock: x must be 4, not 3")
}
