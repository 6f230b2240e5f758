package scenario

import (
	"context"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/bench/internal/contender"
)

// maker is a client that notes for which names it made handles.
type maker struct{ made [][]string }

func (m *maker) Close() error { return nil }

func (m *maker) Lock(names ...string) contender.Lock {
	m.made = append(m.made, names)
	return handle{}
}

// handle is made where the row says so.
type handle struct{ had bool }

func (handle) Lock(context.Context) error              { return nil }
func (handle) Unlock() error                           { return nil }
func (h handle) TryLock(context.Context) (bool, error) { return h.had, nil }

func TestALockByIDHasAHandleForEveryCall(t *testing.T) {
	for name, handles := range map[string]int{
		contender.Ours: 3, contender.Bsm: 3, contender.OursKept: 1, contender.Scripts: 1,
	} {
		var m maker
		lock := (&Lab{Contender: name}).byID(named{&m, "own:"}, "a", "b")
		for range 3 {
			require.NoError(t, lock.Lock(t.Context()))
			require.NoError(t, lock.Unlock())
		}
		require.Len(t, m.made, handles, name)
		require.Equal(t, []string{"own:a", "own:b"}, m.made[0])
	}
}

func TestARefusalIsATurnAndALockThatWasHadIsNone(t *testing.T) {
	require.NoError(t, refused{handle{}}.Lock(t.Context()))
	require.ErrorIs(t, refused{handle{had: true}}.Lock(t.Context()), errHad)
}
