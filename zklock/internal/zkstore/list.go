package zkstore

import (
	"cmp"
	"context"
	"errors"
	"path"
	"slices"
	"strings"

	"github.com/holdfast-go/holdfast/zklock/internal/wire"
)

// Row is one name below which there are nodes of contenders.
type Row struct {
	Name    string
	ID      string // of the holder, whose node was made first
	Fence   int64
	Waiters int // the others

	first string // the path of the holder's node
}

// branch is a node that is a lock's, or above such.
type branch struct {
	path, name string
}

// List tells the names below a prefix that somebody holds, in the order of names. The names are read before the first
// is told.
func (s *Store) List(ctx context.Context, prefix string, limit func() context.Context, yield func(Row) bool) error {
	var rows []Row
	todo := []branch{{path: s.root}}
	for len(todo) > 0 {
		some := todo[:min(len(todo), mostTogether)]
		todo = todo[len(some):]
		found, below, err := s.branches(limit(), some, prefix)
		if err != nil {
			return err
		}
		rows, todo = append(rows, found...), append(todo, below...)
	}
	slices.SortFunc(rows, func(a, b Row) int { return cmp.Compare(a.Name, b.Name) })
	for len(rows) > 0 {
		some := rows[:min(len(rows), mostTogether)]
		rows = rows[len(some):]
		if err := s.holders(limit(), some); err != nil {
			return err
		}
		for _, row := range some {
			if row.ID != "" && !yield(row) {
				return nil
			}
		}
	}
	return ctx.Err()
}

// branches reads the children of some nodes. It returns the locks among these, and the nodes below that are no
// contenders'.
func (s *Store) branches(ctx context.Context, all []branch, prefix string) (rows []Row, below []branch, err error) {
	sent, cancel, err := s.begin(ctx)
	if err != nil {
		return nil, nil, err
	}
	defer cancel()
	reqs := make([]wire.Request, len(all))
	for i, one := range all {
		reqs[i] = wire.Children(one.path)
	}
	replies, err := s.asks(sent, "list", reqs...)
	if err != nil {
		return nil, nil, err
	}
	for i, of := range all {
		names, _, err := replies[i].Children()
		if errors.Is(err, wire.NoNode) {
			continue
		}
		if err != nil {
			return nil, nil, meaning(err)
		}
		isRoot := of.path == s.root
		if q := queueOf(names, ""); q.first != "" && !isRoot && strings.HasPrefix(of.name, prefix) {
			rows = append(rows, Row{Name: of.name, Waiters: q.len - 1, first: join(of.path, q.first)})
		}
		for _, name := range names {
			_, contends := numberOf(name)
			part, ok := decodePart(name)
			if contends && !isRoot || !ok || isRoot && s.root == "/" && name == "zookeeper" {
				continue
			}
			if !isRoot {
				part = of.name + "/" + part
			}
			if strings.HasPrefix(part, prefix) || strings.HasPrefix(prefix, part+"/") {
				below = append(below, branch{join(of.path, name), part})
			}
		}
	}
	return rows, below, nil
}

// holders reads who has some locks. One that is free by now has no id.
func (s *Store) holders(ctx context.Context, rows []Row) error {
	sent, cancel, err := s.begin(ctx)
	if err != nil {
		return err
	}
	defer cancel()
	reqs := []wire.Request{wire.Get(s.basePath())}
	for _, row := range rows {
		reqs = append(reqs, wire.Exists(row.first, false))
	}
	replies, err := s.asks(sent, "list", reqs...)
	if err != nil {
		return err
	}
	base, err := s.based(sent, replies[0])
	if err != nil {
		return err
	}
	for i := range rows {
		stat, err := replies[i+1].Stat()
		switch {
		case errors.Is(err, wire.NoNode):
		case err != nil:
			return meaning(err)
		default:
			rows[i].ID, _ = idOf(path.Base(rows[i].first))
			rows[i].Fence = fence(base, stat.Czxid)
		}
	}
	return nil
}
