package zktest

import (
	"errors"
	"fmt"
	"net"
	"slices"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testkit/tcpproxy"
)

// Ensemble is servers that agree, each of which can be cut off from the others.
type Ensemble struct {
	Members []*Server
	Paths   []*tcpproxy.Proxy // for clients, one to each member
	between [][]link          // from one member to another
}

// link is the two ways by which a member reaches another one.
type link struct{ quorum, election *tcpproxy.Proxy }

// StartEnsemble starts n servers and waits until they have a leader. The options are those of each.
func StartEnsemble(t testing.TB, n int, opts Options) *Ensemble {
	t.Helper()
	e := &Ensemble{}
	for i := range n {
		s, err := prepare(i+1, opts)
		if err != nil {
			t.Fatalf("zktest: %v", err)
		}
		s.belongsTo(t)
		e.Members = append(e.Members, s)
		e.Paths = append(e.Paths, tcpproxy.Start(t, s.Addr()))
	}
	e.connect(t)
	for i, s := range e.Members {
		if err := s.configure(e.lines(i)); err != nil {
			t.Fatalf("zktest: %v", err)
		}
	}
	if err := e.boot(); err != nil {
		t.Fatalf("zktest: %v", err)
	}
	return e
}

// connect makes the paths between the members.
func (e *Ensemble) connect(t testing.TB) {
	t.Helper()
	e.between = make([][]link, len(e.Members))
	for from := range e.Members {
		e.between[from] = make([]link, len(e.Members))
		for to, s := range e.Members {
			if from != to {
				e.between[from][to] = link{
					tcpproxy.Start(t, s.ports[quorum].Addr()), tcpproxy.Start(t, s.ports[election].Addr()),
				}
			}
		}
	}
}

// lines tell a member where it finds the others: each is told paths of its own. It tells them no address of its own,
// which they would prefer to the path for elections: 0.0.0.0 is none.
func (e *Ensemble) lines(of int) (lines []string) {
	for to, s := range e.Members {
		if to == of {
			lines = append(lines, fmt.Sprintf("server.%d=0.0.0.0:%d:%d",
				s.id, s.ports[quorum].Number, s.ports[election].Number))
			continue
		}
		path := e.between[of][to]
		_, port, _ := net.SplitHostPort(path.election.Addr())
		lines = append(lines, fmt.Sprintf("server.%d=%s:%s", s.id, path.quorum.Addr(), port))
	}
	return lines
}

// boot starts all members. None serves before a majority runs.
func (e *Ensemble) boot() error {
	var errs []error
	for _, s := range e.Members {
		errs = append(errs, s.process.Start())
	}
	if err := errors.Join(errs...); err != nil {
		return err
	}
	for _, s := range e.Members {
		errs = append(errs, s.ready())
	}
	return errors.Join(errs...)
}

// Addrs returns the addresses of all members for clients.
func (e *Ensemble) Addrs() []string {
	all := make([]string, len(e.Members))
	for i, s := range e.Members {
		all[i] = s.Addr()
	}
	return all
}

// PathAddrs returns the addresses of the paths to all members.
func (e *Ensemble) PathAddrs() []string {
	all := make([]string, len(e.Paths))
	for i, p := range e.Paths {
		all[i] = p.Addr()
	}
	return all
}

// Leader waits until a member says that it is the leader, and returns its number. Members but those may be, which do
// not know yet that they are not.
func (e *Ensemble) Leader(t testing.TB, but ...int) (leader int) {
	t.Helper()
	Eventually(t, func() bool {
		for i, s := range e.Members {
			if mode, err := s.mode(); err == nil && mode == "leader" && !slices.Contains(but, i) {
				leader = i
				return true
			}
		}
		return false
	}, "a member is the leader")
	return leader
}

// Follower returns the number of a member that is not the leader now.
func (e *Ensemble) Follower(t testing.TB) int {
	t.Helper()
	return (e.Leader(t) + 1) % len(e.Members)
}

// Cut switches a state on or off in which nothing passes between a member and the others, and nobody is told. Clients
// reach it as before, by [Ensemble.Paths], too.
func (e *Ensemble) Cut(member int, on bool) {
	e.each(member, func(p *tcpproxy.Proxy) { p.Blackhole(on) })
}

// Sever switches a state on or off in which the connections between a member and the others are cut, and new ones are
// cut at once: unlike those of Cut, all of them know.
func (e *Ensemble) Sever(member int, on bool) {
	e.each(member, func(p *tcpproxy.Proxy) {
		p.Refuse(on)
		if on {
			p.CutAll()
		}
	})
}

// Slow delays everything between a member and the others by d in each direction.
func (e *Ensemble) Slow(member int, d time.Duration) {
	e.each(member, func(p *tcpproxy.Proxy) { p.Latency(d) })
}

// each changes all paths between a member and the others.
func (e *Ensemble) each(member int, change func(*tcpproxy.Proxy)) {
	for from, row := range e.between {
		for to, path := range row {
			if from != to && (from == member || to == member) {
				change(path.quorum)
				change(path.election)
			}
		}
	}
}

// Rewind has all members go on from the snapshot of one of them.
func (e *Ensemble) Rewind(t testing.TB, snapshot string) {
	t.Helper()
	for _, s := range e.Members {
		s.Kill()
		s.restore(t, snapshot)
	}
	if err := e.boot(); err != nil {
		t.Fatalf("zktest: %v", err)
	}
}
