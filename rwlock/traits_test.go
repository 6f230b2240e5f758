package rwlock

import (
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/redisstore"
)

// A kind whose levels the store does not count does not say that it does: each nested write hold armed a timer for a
// step that is never sent (defect G12).
func TestLevelsAreCountedWhereTheStoreHasACount(t *testing.T) {
	for name, p := range map[string]redisstore.Protocol{"read": reader{}, "write": writer{}} {
		_, steps := p.(redisstore.Stepper)
		require.Equal(t, steps, p.Traits().Counts, name)
	}
}
