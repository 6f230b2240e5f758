package links

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"
)

// names are those that serve, as far as s knows.
func (s *shards) names() (all []string) {
	s.keys.Range(func(name, _ any) bool {
		all = append(all, name.(string))
		return true
	})
	return all
}

// Nodes that serve nothing any more go when another one comes, whatever their names (defect G11).
func TestNodesThatWereReplacedServeNothing(t *testing.T) {
	t.Parallel()
	var s shards
	for i := range 200 {
		serving := func(key string) string { return fmt.Sprint(key, i%150) }
		for _, key := range []string{"a", "b", "c"} {
			s.add(serving(key), key, serving)
		}
		require.ElementsMatch(t, []string{serving("a"), serving("b"), serving("c")}, s.names())
	}
	s.add("late", "a", func(key string) string { return fmt.Sprint(key, 199%150) })
	require.False(t, s.has("late"), "it was asked for before the others came")
	require.Len(t, s.names(), 3)
}

// A node that has lost the slot by which it is known may serve others: it is asked for again.
func TestANodeThatLostItsSlotComesBack(t *testing.T) {
	t.Parallel()
	var s shards
	owner := map[string]string{"x": "a", "y": "a", "z": "b"}
	serving := func(key string) string { return owner[key] }
	s.add("a", "x", serving)
	owner["x"] = "b"
	s.add("b", "z", serving)
	require.False(t, s.has("a"))
	s.add("a", "y", serving)
	require.ElementsMatch(t, []string{"a", "b"}, s.names())
}
