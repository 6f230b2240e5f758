package watchdog

import (
	"math/rand/v2"
	"testing"

	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

func TestOccupancyAfter(t *testing.T) {
	var o occupancy
	_, ok := o.after(0)
	assert.False(t, ok, "empty")
	for occupied := range uint16(slots) {
		o.set(occupied)
		for from := range uint16(slots) {
			distance, ok := o.after(from)
			want := uint64((occupied-from-1)&slotMask) + 1
			if !ok || distance != want {
				t.Fatalf("from %d to %d: %d, want %d", from, occupied, distance, want)
			}
		}
		o.clear(occupied)
	}
	assert.Zero(t, o)
}

func TestOccupancyAfterFindsTheNearest(t *testing.T) {
	random := rand.New(rand.NewPCG(3, 4))
	for range 2000 {
		var o occupancy
		var set [slots]bool
		for range 1 + random.IntN(20) {
			i := uint16(random.IntN(slots))
			o.set(i)
			set[i] = true
		}
		from := uint16(random.IntN(slots))
		want := uint64(1)
		for !set[(uint64(from)+want)&slotMask] {
			want++
		}
		distance, ok := o.after(from)
		require.True(t, ok)
		require.Equal(t, want, distance)
	}
}
