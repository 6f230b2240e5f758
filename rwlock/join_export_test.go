package rwlock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/simredis"
	"github.com/holdfast-go/holdfast/rlock"
	"github.com/holdfast-go/holdfast/rwlock"
)

// A grant that several readers have stays theirs when one is exported, which gets another one beside it, be there a
// writer who waits.
func TestExportOfAReaderAmongOthers(t *testing.T) {
	t.Parallel()
	for name, test := range map[string]struct {
		one  int
		gate bool
	}{"who asked": {0, false}, "who joined": {1, false}, "a writer waits": {1, true}} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			inJoinLab(t, func(t *testing.T, l *joinLab) {
				a, b := l.near(rlock.ClientOptions{}), l.near(rlock.ClientOptions{})
				w := a.write()
				fence := w.known(t).Fence
				w.frees(t)
				holds := l.readers(a, 3)
				id := holds[0].known(t).ID
				var writer <-chan hold
				if test.gate {
					writer = b.wait(b.Write())
				}
				exported := holds[test.one]
				token, err := a.Read().Export(exported.ctx)
				require.NoError(t, err)
				require.ErrorIs(t, exported.ends(t), rlock.ErrReleased)
				require.ErrorIs(t, exported.unlock(), rlock.ErrNotHeld)
				require.Len(t, l.hash(), 3)
				for i, h := range holds {
					if i != test.one {
						require.Equal(t, id, h.known(t).ID)
						h.frees(t)
					}
				}
				require.Len(t, l.hash(), 2)
				require.NotContains(t, l.hash(), id)
				b.busy(b.Write())
				ctx, unlock, err := b.Read().Import(t.Context(), token)
				require.NoError(t, err)
				imported := hold{b.Read(), ctx, unlock, nil}
				require.Equal(t, fence, imported.known(t).Fence)
				require.Empty(t, writer)
				imported.frees(t)
				if test.gate {
					l.arrives(writer).frees(t)
				}
				l.ends()
				a.heard(4, 0, 4)
			})
		})
	}
}

// The others may leave while the reply is on its way, or lost; and what is exported is not entered again.
func TestExportOfTheLastOfSeveralReaders(t *testing.T) {
	t.Parallel()
	inJoinLab(t, func(t *testing.T, l *joinLab) {
		a, b := l.near(rlock.ClientOptions{}), l.near(rlock.ClientOptions{})
		holds := l.readers(a, 2)
		lost := true
		l.mu.Lock()
		l.fault = func(script string) simredis.Verdict {
			if script == "rw_read_adopt" && lost {
				lost = false
				return simredis.CutAfter
			}
			return simredis.Pass
		}
		l.mu.Unlock()
		var token string
		done := make(chan error, 1)
		go func() {
			var err error
			token, err = a.Read().Export(holds[0].ctx)
			done <- err
		}()
		require.ErrorIs(t, holds[0].ends(t), rlock.ErrReleased)
		_, err := a.Read().Held(holds[0].ctx)
		require.ErrorIs(t, err, rlock.ErrNotHeld)
		holds[1].frees(t)
		require.NoError(t, <-done)
		require.Len(t, l.hash(), 2)
		ctx, unlock, err := b.Read().Import(t.Context(), token)
		require.NoError(t, err)
		hold{b.Read(), ctx, unlock, nil}.frees(t)
		time.Sleep(asEver)
		l.ends()
	})
}

// A grant that is gone cannot be shared out: that is a loss, for all who have it.
func TestExportOfAReaderWhoseGrantIsGone(t *testing.T) {
	t.Parallel()
	inJoinLab(t, func(t *testing.T, l *joinLab) {
		a := l.near(rlock.ClientOptions{})
		holds := l.readers(a, 2)
		l.rdb.Del(t.Context(), l.name, l.holdKey(holds[0].known(t).ID, "1"))
		_, err := a.Read().Export(holds[0].ctx)
		require.ErrorIs(t, err, rlock.ErrLost)
		require.ErrorIs(t, holds[1].ends(t), rlock.ErrLost)
		require.ErrorIs(t, holds[1].unlock(), rlock.ErrLost)
		l.ends()
	})
}

// What is nested belongs to one reader, and is not exported.
func TestExportOfANestedReaderAmongOthers(t *testing.T) {
	t.Parallel()
	inJoinLab(t, func(t *testing.T, l *joinLab) {
		a := l.near(rlock.ClientOptions{})
		holds := l.readers(a, 2)
		inner := a.take(rwlock.New(a.client, l.name).Read(), holds[1].ctx)
		var bad *rlock.ArgumentError
		_, err := a.Read().Export(inner.ctx)
		require.ErrorAs(t, err, &bad)
		inner.frees(t)
		holds[0].frees(t)
		holds[1].frees(t)
		l.ends()
	})
}
