package zkstore

import (
	"errors"
	"path"
	"strings"

	"github.com/holdfast-go/holdfast/zklock/internal/wire"
)

func join(dir, name string) string { return path.Join(dir, name) }

// ancestors are requests that make what stands above a node.
func (s *Store) ancestors(of string) (reqs []wire.Request) {
	for i := 1; i < len(of); i++ {
		if of[i] == '/' {
			reqs = append(reqs, wire.Create(of[:i], nil, s.cfg.ACL))
		}
	}
	return reqs
}

// parents are requests that make a lock's node, and what stands above it. That stays down to the root; below it the
// servers delete each node some time after its last child. A waiter that finds it deleted makes it again.
func (s *Store) parents(l *Lock) (reqs []wire.Request) {
	root := strings.TrimSuffix(s.root, "/")
	reqs = s.ancestors(root + "/")
	for i := len(root) + 1; i <= len(l.path); i++ {
		if i == len(l.path) || l.path[i] == '/' {
			reqs = append(reqs, wire.Container(l.path[:i], s.cfg.ACL))
		}
	}
	return reqs
}

// made is the error of requests that make a node and what stands above it: only of the last one it counts whether its
// node is there. This client may be allowed to make nothing further up.
func made(replies []wire.Reply) error {
	last := replies[len(replies)-1].Err
	if last == nil || errors.Is(last, wire.NodeExists) {
		return nil
	}
	for _, r := range replies {
		if r.Err != nil && !errors.Is(r.Err, wire.NodeExists) {
			return meaning(r.Err)
		}
	}
	return meaning(last)
}
