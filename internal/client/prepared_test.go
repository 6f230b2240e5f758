package client

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhatWasPreparedIsKeptForNamesInUse(t *testing.T) {
	var p Prepared
	require.Nil(t, p.Get("a"))
	p.Put("a", 1)
	p.Put("unused", 2)
	for i := range 10 * preparedNames {
		p.Put(fmt.Sprint(i), i)
		require.Equal(t, 1, p.Get("a"))
		require.LessOrEqual(t, len(p.young)+len(p.old), 2*preparedNames)
	}
	require.Nil(t, p.Get("unused"))
}
