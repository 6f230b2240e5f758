package trips

import (
	"testing"

	"github.com/stretchr/testify/require"
)

func TestTheMiddleOfEachCount(t *testing.T) {
	require.Equal(t, []int{1, 2}, middle([][]int{{1, 9}, {5, 2}, {1, 2}, {1, 2}, {0, 1}}))
}
