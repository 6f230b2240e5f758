package engine

import (
	"context"
	"errors"
	"fmt"
	"io"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/store"
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
	require.Equal(t, context.Canceled, ContextError(plain))
	mine := errors.New("mine")
	caused, cancelCause := context.WithCancelCause(t.Context())
	cancelCause(mine)
	err := ContextError(caused)
	require.ErrorIs(t, err, context.Canceled)
	require.ErrorIs(t, err, mine)
	require.EqualError(t, err, "mine")
}

// An error of the public vocabulary matches its word, its cause and the context's end at once.
func TestVerdictMatchesAllThatItIsMadeOf(t *testing.T) {
	word, cause := errors.New("busy"), errors.New("why")
	v := &callError{kind: word, of: named{}, cause: cause, ctxErr: context.DeadlineExceeded}
	for _, target := range []error{word, cause, context.DeadlineExceeded} {
		require.ErrorIs(t, v, target)
	}
	require.EqualError(t, v, `lock "order": busy: why: context deadline exceeded`)
	bare := &callError{kind: word, of: named{}}
	require.EqualError(t, bare, `lock "order": busy`)
	require.NotErrorIs(t, bare, cause)
}

// The text names the lock where it speaks of it, by the word for its kind.
func TestTextsNameTheLock(t *testing.T) {
	for text, want := range map[string]string{
		"holdfast: the lock is not held":   `holdfast: lock "order" is not held`,
		"holdfast: Redis is unavailable":   `holdfast: lock "order": Redis is unavailable`,
		"busy":                             `lock "order": busy`,
		"holdfast: the locksmith is away":  `holdfast: lock "order": the locksmith is away`,
		"holdfast: the semaphore is empty": `holdfast: lock "order": the semaphore is empty`,
	} {
		require.Equal(t, want, naming(text, named{}))
	}
	for _, text := range []string{"holdfast: the semaphore is empty", "holdfast: the lock is empty"} {
		require.Equal(t, `holdfast: semaphore "order" is empty`, naming(text, named{noun: "semaphore"}))
	}
}

// named is a lock that has no more than a name and a word for its kind.
type named struct {
	store.Protocol
	noun string
}

func (named) Name() string            { return "order" }
func (n named) Traits() *store.Traits { return &store.Traits{Noun: n.noun} }

// Of the errors of several unlocks, one that says that a release is unconfirmed is told only if there is no other
// (defect F12).
func TestALossIsGraverThanAnUnconfirmedRelease(t *testing.T) {
	unconfirmed, lost, other := errors.New("unconfirmed"), errors.New("lost"), errors.New("not held")
	e := &Engine{cfg: Config{Errors: Errors{Unconfirmed: unconfirmed}}}
	release := fmt.Errorf("a: %w", unconfirmed)
	require.Equal(t, lost, e.graver(release, lost))
	require.Equal(t, lost, e.graver(lost, release))
	require.Equal(t, lost, e.graver(lost, other))
	require.Equal(t, release, e.graver(nil, release))
	require.Equal(t, release, e.graver(release, nil))
	require.NoError(t, e.graver(nil, nil))
}
