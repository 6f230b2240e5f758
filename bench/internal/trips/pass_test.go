package trips

import (
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/bench/internal/contender"
	"github.com/holdfast-go/holdfast/bench/internal/distance"
)

// In the middle of a run a process hands over in memory.
func TestOursIsHandedOverInsideAProcessWithoutARequest(t *testing.T) {
	if !distance.Available {
		t.Skip("not run: there is no relay on this system")
	}
	all := Operations()
	o := all[slices.IndexFunc(all, func(o Operation) bool { return o.pass == inside })]
	require.Equal(t, o.Least, "0")
	got, err := one(t.Context(), o, contender.Ours, nil)
	require.NoError(t, err)
	require.LessOrEqual(t, got[0], 1, "one if a busy machine made the hold a long one")
}
