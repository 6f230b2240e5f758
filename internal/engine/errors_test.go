package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"
)

// A command's own limit must not look like the end of the caller's context.
func TestOursHidesOurOwnDeadlines(t *testing.T) {
	for _, err := range []error{context.DeadlineExceeded, context.Canceled} {
		wrapped := fmt.Errorf("reading: %w", err)
		hidden := ours(wrapped)
		require.NotErrorIs(t, hidden, err)
		require.EqualError(t, hidden, wrapped.Error())
	}
	require.Equal(t, io.EOF, ours(io.EOF))
	require.NoError(t, ours(nil))
}

func TestContextErrorMatchesErrAndCause(t *testing.T) {
	plain, cancel := context.WithCancel(t.Context())
	cancel()
	require.Equal(t, context.Canceled, contextError(plain))
	mine := errors.New("mine")
	caused, cancelCause := context.WithCancelCause(t.Context())
	cancelCause(mine)
	err := contextError(caused)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, mine)
	require.EqualError(t, err, "mine")
}

// An error of the public vocabulary matches its word, its cause and the context's end at once.
func TestVerdictMatchesAllThatItIsMadeOf(t *testing.T) {
	word, cause := errors.New("busy"), errors.New("why")
	v := &callError{kind: word, name: "order", cause: cause, ended: context.DeadlineExceeded}
	for _, target := range []error{word, cause, context.DeadlineExceeded} {
		require.ErrorIs(t, v, target)
	}
	require.EqualError(t, v, `busy: "order": why: context deadline exceeded`)
	bare := &callError{kind: word, name: "order"}
	require.EqualError(t, bare, `busy: "order"`)
	require.NotErrorIs(t, bare, cause)
}
