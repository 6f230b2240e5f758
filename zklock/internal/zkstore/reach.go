package zkstore

import (
	"context"
	"errors"
	"fmt"
	"net"
	"time"

	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/zklock/internal/wire"
)

// found is a connection to which the session was attached, and what it has.
type found struct {
	conn    *wire.Conn
	server  int
	number  int64         // of the connection
	since   time.Duration // the handshake was sent
	before  int64         // the latest change that had been seen by then
	zxid    int64         // of the change that was agreed on
	paths   []string
	gone    []owner
	strange []string
}

// anywhere attaches the session to the first server that is available, beginning with the present one if that has
// answered lately. Each server has a share of the time.
func (n *session) anywhere(ctx context.Context) (*found, error) {
	n.mu.Lock()
	first, old := n.server, n.conn
	n.mu.Unlock()
	if old != nil && !alive(old) {
		first++
	}
	f, err := n.round(ctx, first)
	if err != nil && alive(old) && n.crowded(err) {
		old.Drop()
		f, err = n.round(ctx, first)
	}
	return f, err
}

// crowded reports that the connection that there is has to make room for the next one. Servers allow an address so many
// (maxClientCnxns), and a process has so many descriptors. The connection is of no use for a renewal, so where nothing
// else was refused it is kept for half of the lease, for releases.
func (n *session) crowded(err error) bool {
	var refused *net.OpError
	if errors.Is(err, wire.ErrRefused) {
		return true
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	return errors.As(err, &refused) && n.store.host.Clock.Now()-n.since > n.store.lease/2
}

func (n *session) round(ctx context.Context, first int) (*found, error) {
	servers := n.store.cfg.Servers
	end, ok := ctx.Deadline()
	if !ok {
		end = time.Now().Add(n.store.host.Limit)
	}
	var all []error
	for i := range servers {
		at := (first + i) % len(servers)
		share := time.Until(end) / time.Duration(len(servers)-i)
		one, cancel := context.WithTimeout(ctx, share)
		f, err := n.to(one, at)
		cancel()
		if err == nil || hopeless(err) {
			return f, err
		}
		all = append(all, err)
	}
	return nil, errors.Join(all...)
}

// hopeless reports that no other server need be asked. After one that has given a session less time than it had,
// another one gives it that again.
func hopeless(err error) bool {
	var unfit *ServerError
	var code wire.Code
	return errors.Is(err, wire.ErrOver) || errors.As(err, &unfit) && !unfit.shorter ||
		errors.As(err, &code) && store.Denied(meaning(err))
}

// to attaches the session to one server, has a change agreed on over that connection, and reads what the session has.
func (n *session) to(ctx context.Context, at int) (*found, error) {
	s := n.store
	address := s.cfg.Servers[at]
	n.mu.Lock()
	what := n.wire
	n.mu.Unlock()
	what.Timeout = s.lease
	f := &found{server: at, number: s.numbers.Add(1), since: s.host.Clock.Now(), before: s.latest()}
	var err error
	f.conn, err = s.cfg.Dialer.Attach(ctx, address, what, func(path string, deleted bool) {
		n.fired(f.number, path, deleted)
	})
	var other *wire.OtherSessionError
	switch {
	case errors.As(err, &other):
		return nil, &ServerError{Server: address, Problem: "gave a new session instead of the one that was to be " +
			"attached again, so locks would end with a connection: it may be ClickHouse Keeper, or of another ensemble"}
	case err != nil:
		return nil, err
	}
	if err = f.prove(ctx, s); err == nil && f.conn.Session.Timeout < s.lease {
		err = &ServerError{Server: address, shorter: what.ID != 0, Problem: fmt.Sprintf(
			"grants sessions of %v at most, which is less than the lease of %v: use a shorter Lease, or raise its "+
				"maxSessionTimeout", f.conn.Session.Timeout, s.lease)}
	}
	if err != nil {
		f.conn.Drop()
		return nil, err
	}
	return f, nil
}

// prove has a change agreed on, and reads what the session has then.
func (f *found) prove(ctx context.Context, s *Store) error {
	reqs := append(wire.Authenticate(s.cfg.Auth), wire.Agree(), wire.Ephemerals())
	replies, err := f.conn.Do(ctx, reqs...)
	for _, r := range replies {
		if r.Err != nil {
			err = r.Err
			break
		}
	}
	switch {
	case errors.Is(err, wire.SessionExpired):
		return wire.ErrOver
	case errors.Is(err, wire.Unimplemented):
		return &ServerError{
			Server: f.conn.Address, Problem: "cannot say which nodes a session has: use 3.9.4 or newer",
		}
	case err != nil:
		return err
	}
	agreed, list := replies[len(replies)-2], replies[len(replies)-1]
	if err := agreed.Agreed(); err != nil {
		return err
	}
	f.zxid = agreed.Zxid
	f.paths, err = list.Paths()
	return err
}
