package redisson_test

import (
	"fmt"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/redistest"
	"github.com/holdfast-go/holdfast/rlock"
)

// On a cluster both sides use sharded messages, on whichever node the name lies.
func TestCluster(t *testing.T) {
	t.Parallel()
	classPath(t)
	lab := redistest.Cluster(t, 3)
	var nodes []*redistest.Server
	for i := range lab.Len() {
		nodes = append(nodes, lab.Node(i))
	}
	j := startJava(t, lab.Addrs(), javaOptions{cluster: true})
	g := newGo(t, lab.Client(t), rlock.ClientOptions{}, nodes...)
	other := newGo(t, lab.Client(t), rlock.ClientOptions{}, nodes...)
	seen := map[int]bool{}
	for i := 0; len(seen) < lab.Len() || i < 6; i++ {
		name := fmt.Sprintf("cluster:%d", i)
		if i%2 == 1 {
			name = fmt.Sprintf("{tag %d}:ü", i)
		}
		seen[lab.NodeFor(t, lab.Slot(t, name))] = true
		require.Less(t, i, 100, "the names lie on few nodes")
		exchange(t, j.thread("a"), j.thread("b"), g, name, 2)
	}
	mix(t, j, []*goSide{g, other}, lab.Client(t), "mixed")
}
