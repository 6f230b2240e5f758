package engine

import (
	"testing"
	"unsafe"

	"github.com/stretchr/testify/require"
)

// What a hold costs that nobody waits for: itself and a keyState. 256 is a class of the allocator's; the next is 288.
func TestSizesOfWhatEveryHoldHas(t *testing.T) {
	require.LessOrEqual(t, unsafe.Sizeof(Hold{}), uintptr(256))
	require.LessOrEqual(t, unsafe.Sizeof(keyState{}), uintptr(16))
}
