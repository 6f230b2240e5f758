package client

import (
	"fmt"
	"sync"
	"testing"

	"github.com/stretchr/testify/require"
)

func TestWhatWasPreparedIsKeptForNamesInUse(t *testing.T) {
	var p Prepared
	require.Nil(t, p.Get("a"))
	a := new(Named)
	p.Put("a", a)
	p.Put("unused", new(Named))
	for i := range 10 * preparedNames {
		p.Put(fmt.Sprint(i), new(Named))
		require.Same(t, a, p.Get("a"))
		require.LessOrEqual(t, p.size(), 2*preparedNames)
	}
	require.Nil(t, p.Get("unused"))
}

// size is how many names are kept, in one generation or in both.
func (p *Prepared) size() (n int) {
	for _, names := range []*sync.Map{p.young.Load(), p.old.Load()} {
		if names != nil {
			names.Range(func(_, _ any) bool { n++; return true })
		}
	}
	return n
}
