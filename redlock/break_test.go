package redlock_test

import (
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/redlock"
	"github.com/holdfast-go/holdfast/rlock"
)

// A holder hears of a break by the message of one node: its next renewal is 20 minutes away (defect G60).
func TestAHolderHearsOfABreak(t *testing.T) {
	t.Parallel()
	l := newLab(t, 3)
	o := options(time.Hour)
	client, operator := l.client(l.direct(), o), l.client(l.direct(), o)
	for _, name := range []string{"before it listens", "as it does"} {
		ctx, unlock := take(t, redlock.New(client, name))
		require.NoError(t, redlock.New(operator, name).Break(within(t)))
		require.ErrorIs(t, ended(t, ctx), rlock.ErrLost)
		require.ErrorIs(t, unlock(), rlock.ErrLost)
	}
}
