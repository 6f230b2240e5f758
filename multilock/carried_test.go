package multilock_test

import (
	"context"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/multilock"
	"github.com/holdfast-go/holdfast/rlock"
)

// Whether a member is entered again or taken is decided when everything else is held: a level that the
// context carries can be unlocked while the call waits for another name.
func TestALevelThatIsUnlockedDuringTheWait(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	for carried, word := range map[int]string{0: "the first name", 1: "the last name"} {
		t.Run(word, func(t *testing.T) {
			t.Parallel()
			ctx, c, rival := within(t), clientAt(t, server.Addr(), nil), clientAt(t, server.Addr(), nil)
			n := names(t, 2)
			slices.Sort(n)
			all, busy := locks(c, n...), n[1-carried]
			_, unlockBusy, err := rlock.New(rival, busy).Lock(ctx)
			require.NoError(t, err)
			outer, unlockOuter, err := all[carried].Lock(ctx)
			require.NoError(t, err)
			entered := make(chan error, 1)
			go func() {
				entered <- multilock.New(all).Do(context.WithoutCancel(outer), func(ctx context.Context) error {
					for i, l := range all {
						if _, err := l.Held(ctx); err != nil {
							return err
						}
						info, err := rlock.New(rival, n[i]).Inspect(ctx)
						if err != nil || len(info.Holders) != 1 || info.Holders[0].Mine {
							t.Errorf("%s is not held in Redis: %v %v", n[i], info, err)
						}
					}
					return nil
				})
			}()
			waits(t, rlock.New(c, busy))
			require.NoError(t, unlockOuter())
			require.NoError(t, unlockBusy())
			require.NoError(t, <-entered)
			free(t, rival, n...)
		})
	}
}

// The loss of a member that was not unlocked is returned at once, not when all others are free.
func TestALostMemberIsToldBeforeTheWait(t *testing.T) {
	t.Parallel()
	server := redistest.Shared(t)
	ctx, c, rival := within(t), clientAt(t, server.Addr(), nil), clientAt(t, server.Addr(), nil)
	n := names(t, 2)
	all := locks(c, n...)
	outer, unlockOuter, err := all[0].Lock(ctx)
	require.NoError(t, err)
	require.NoError(t, all[0].Break(ctx))
	<-outer.Done()
	_, unlockBusy, err := rlock.New(rival, n[1]).Lock(ctx)
	require.NoError(t, err)
	limited, cancel := context.WithTimeout(context.WithoutCancel(outer), patience/4)
	defer cancel()
	_, _, err = multilock.New(all).Lock(limited)
	require.ErrorIs(t, err, rlock.ErrLost)
	require.NoError(t, limited.Err(), "it waited first")
	require.ErrorIs(t, unlockOuter(), rlock.ErrLost)
	require.NoError(t, unlockBusy())
}
