package witness_test

import (
	"slices"
	"testing"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/witness"
)

func hold(fence int64, from, to time.Duration) witness.Hold {
	return witness.Hold{Name: "a", Fence: fence, From: from, To: to}
}

func TestPairs(t *testing.T) {
	t.Parallel()
	other := hold(1, 12, 13)
	other.Name = "b"
	for name, c := range map[string]struct {
		holds              []witness.Hold
		overlaps, disorder int
	}{
		"none":             {nil, 0, 0},
		"after":            {[]witness.Hold{hold(1, 10, 20), hold(2, 21, 30)}, 0, 0},
		"touching":         {[]witness.Hold{hold(1, 10, 20), hold(2, 20, 30)}, 1, 0},
		"inside":           {[]witness.Hold{hold(1, 10, 20), hold(2, 12, 13)}, 1, 0},
		"around":           {[]witness.Hold{hold(1, 10, 20), hold(2, 1, 30)}, 1, 0},
		"at one time":      {[]witness.Hold{hold(1, 10, 20), hold(2, 10, 20)}, 1, 0},
		"under a long one": {[]witness.Hold{hold(1, 10, 99), hold(2, 20, 30), hold(3, 40, 50)}, 2, 0},
		"never live":       {[]witness.Hold{hold(1, 10, 20), hold(0, 18, 12)}, 0, 0},
		"other name":       {[]witness.Hold{hold(1, 10, 20), other}, 0, 0},
		"same token":       {[]witness.Hold{hold(1, 10, 20), hold(1, 21, 30)}, 0, 1},
		"lower token":      {[]witness.Hold{hold(1, 10, 20), hold(0, 21, 30)}, 0, 1},
		"below an earlier": {[]witness.Hold{hold(3, 10, 20), hold(1, 21, 30), hold(2, 31, 40)}, 0, 2},
	} {
		for range 2 {
			require.Len(t, witness.Overlaps(c.holds), c.overlaps, name)
			require.Len(t, witness.Disorder(c.holds), c.disorder, name)
			require.Equal(t, c.overlaps+c.disorder > 0, witness.Judge(c.holds) != nil, name)
			slices.Reverse(c.holds)
		}
	}
}
