package zklock_test

import (
	"cmp"
	"errors"
	"slices"
	"testing"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/testkit/holding"
	protocol "github.com/holdfast-go/holdfast/zklock/internal/wire"
)

// plain is another client of ZooKeeper, with a session of its own, which lasts as long as the test.
type plain struct{ *protocol.Conn }

var anyone = []protocol.ACL{{Perms: protocol.All, Scheme: "world", ID: "anyone"}}

func connect(t testing.TB, address string) *plain {
	t.Helper()
	d := &protocol.Dialer{}
	c, err := d.Attach(within(t), address, protocol.Session{Timeout: 2 * holding.Patience}, func(string, bool) {})
	require.NoError(t, err)
	t.Cleanup(func() {
		_, _ = c.Do(within(t), protocol.CloseSession())
		c.Drop()
		d.Wait()
	})
	return &plain{c}
}

// asks sends a request, and returns its answer.
func (p *plain) asks(t testing.TB, r protocol.Request) protocol.Reply {
	t.Helper()
	replies, err := p.Do(within(t), protocol.Agree(), r)
	require.NoError(t, err)
	return replies[1]
}

// child is a node below another.
type child struct {
	path string
	protocol.Stat
}

// children are the nodes below another, in the order in which they were made.
func (p *plain) children(t testing.TB, path string) (all []child) {
	t.Helper()
	names, _, err := p.asks(t, protocol.Children(path)).Children()
	if errors.Is(err, protocol.NoNode) {
		return nil
	}
	require.NoError(t, err)
	for _, name := range names {
		stat, err := p.asks(t, protocol.Exists(path+"/"+name, false)).Stat()
		if errors.Is(err, protocol.NoNode) {
			continue
		}
		require.NoError(t, err)
		all = append(all, child{path + "/" + name, stat})
	}
	slices.SortFunc(all, func(a, b child) int { return cmp.Compare(a.Czxid, b.Czxid) })
	return all
}

// stand waits until as many nodes stand below another, and returns them in their order.
func (p *plain) stand(t testing.TB, path string, n int) (all []child) {
	t.Helper()
	eventually(t, func() bool { all = p.children(t, path); return len(all) == n }, "nodes stand below "+path)
	return all
}

// deletes deletes a node, which is there.
func (p *plain) deletes(t testing.TB, path string) {
	t.Helper()
	require.NoError(t, p.asks(t, protocol.Delete(path)).Err)
}

// writes writes the data of a node, which is there.
func (p *plain) writes(t testing.TB, path, data string) {
	t.Helper()
	require.NoError(t, p.asks(t, protocol.Set(path, []byte(data), protocol.AnyVersion)).Err)
}
