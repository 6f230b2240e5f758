package hold

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// A process may have a hundred thousand holds. Sizes are those of the allocator's classes, so a field more may cost 16
// or 32 bytes of each; what few have belongs behind a pointer that they share (apart, steps, limit, share). That of the
// engine's hold is pinned there.
func TestSizesOfWhatEveryHoldHas(t *testing.T) {
	require.LessOrEqual(t, unsafe.Sizeof(Level{}), uintptr(80))
	require.LessOrEqual(t, unsafe.Sizeof(Hold{}), uintptr(192))
}
