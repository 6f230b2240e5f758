package links

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
)

// primary is the primary that Sentinels watch, and whether it can be trusted to be one.
//
// Trust begins when a Sentinel names the server. It goes on while ROLE confirms two things: the server is a master, and
// every replica that it had since then has received all that was written until some recent moment. What was granted or
// renewed until that moment is on every server that the Sentinels may promote; so nobody else can have it before its
// lease ends, whichever server is the primary by now. It lasts until a while (period) after the last such moment, or
// after the last answer of a Sentinel.
//
// While it lasts no Sentinel is needed: the server is dialled as it was before. So Sentinels that hang or are dead
// cost nothing while the primary is well. Once it has ended, the follower closes the connections, and a dial waits for
// a Sentinel, or for the replicas to be there again.
//
// That is what stops a process that is cut off together with the old primary from all else. For a minute ROLE still
// lists replicas that are out of reach, but they confirm nothing that is written since: with the first renewal that
// reaches no replica trust begins to run out, and with leases of eight seconds or more it has ended before the next.
// So the process treats a hold as its own for a third of a lease, at most, after others can have it.
//
// If neither a Sentinel nor the primary answers, as when both were on a machine that stops, the replicas are asked
// whether they were promoted: see heir.
//
// A connection that only the application's own dialer can make, since it wraps what it dials, needs a Sentinel each
// time. Those that are open are kept like all others.
type primary struct {
	sentinels *sentinels
	replaced  func()                   // is called when a Sentinel names another server than before
	straight  func(conn net.Conn) dial // is again
	roleAt    func(ctx context.Context, addr string, d dial) (*primaryRole, error)

	mu      sync.Mutex // guards all below
	trust   trust
	direct  dial     // dials the server without a Sentinel; nil: only the application can
	waiting int      // calls that want a connection, and wait
	fresh   net.Conn // for the first of them, from the question; nil: none
}

var (
	errUnconfirmed = errors.New("no Sentinel answers, and the last known primary does not confirm that it still has " +
		"its replicas")
	errUnnamed = errors.New("no Sentinel answers, and none has named a primary before")
)

func newPrimary(given *redis.Options, limits Limits, replaced func()) *primary {
	limit := greetingFor(limits.Command)
	p := &primary{
		replaced: replaced,
		straight: func(conn net.Conn) dial { return again(conn, given.TLSConfig, limit) },
		trust:    trust{period: max(limits.Life, leastTrust), turned: make(chan struct{})},
	}
	p.sentinels = newSentinels(given.Dialer, limit, given.ReadTimeout, p.named)
	return p
}

// dial connects to the primary, once it is trusted.
func (p *primary) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	return p.connect(ctx, network, p.trust.stands)
}

// probe connects to the last known primary, trusted or not: to ask it for its role.
func (p *primary) probe(ctx context.Context, network, _ string) (net.Conn, error) {
	return p.connect(ctx, network, func(time.Time) bool { return p.trust.addr != "" })
}

// connect dials the last known primary if it is good enough, and otherwise waits until it is, or a Sentinel answers.
//
// The question's own connection goes to one of those who wait for one; the others dial then. A question has less time
// than a call may have, so if it was too little for the dial, it is asked again.
func (p *primary) connect(ctx context.Context, network string, good func(time.Time) bool) (net.Conn, error) {
	for {
		p.mu.Lock()
		direct, addr, turned := p.direct, p.trust.addr, p.trust.turned
		if direct != nil && good(time.Now()) {
			p.mu.Unlock()
			return direct(ctx, network, addr)
		}
		p.waiting++
		p.mu.Unlock()
		conn, err := p.await(ctx, turned)
		if conn != nil || err != nil && (!late(err) || ctx.Err() != nil) {
			return conn, err
		}
	}
}

// await returns what a question brought, or nothing if it is time to look again.
func (p *primary) await(ctx context.Context, turned <-chan struct{}) (net.Conn, error) {
	var err error
	select {
	case answer := <-p.sentinels.inquire():
		err = answer.Err
	case <-turned:
	case <-ctx.Done():
		err = errUnconfirmed
	}
	p.mu.Lock()
	defer p.mu.Unlock()
	conn := p.fresh
	p.fresh = nil
	p.waiting--
	switch {
	case conn != nil && err == nil:
		return conn, nil
	case conn != nil:
		_ = conn.Close()
	case err == errUnconfirmed && p.trust.addr == "":
		err = errUnnamed
	}
	return nil, err
}

// primaries asks the Sentinels for the primary, for a follower; and if none answers, and neither does the last known
// primary, its replicas.
func (p *primary) primaries(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	heir := make(chan string, 1)
	go func() { heir <- p.heir(ctx) }()
	var err error
	select {
	case answer := <-p.sentinels.inquire():
		err = answer.Err
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err == nil {
		cancel()
	}
	found := <-heir
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil && found != "" {
		p.trust.begin(found, time.Now())
		err = nil
	}
	return []string{p.trust.addr}, err
}

// heir returns the replica of a silent primary that was promoted, or "" if none says so. It asks all of them, and
// returns when ctx ends at the latest.
//
// A replica that has at least as much of the stream as it had confirmed, and calls itself a master now, was promoted. A
// replica that was only started anew, and waits to be made a replica again, is empty, or older.
func (p *primary) heir(ctx context.Context) (promoted string) {
	p.mu.Lock()
	acked, direct := p.trust.heirs(time.Now()), p.direct
	p.mu.Unlock()
	if direct == nil {
		return ""
	}
	answers := make(chan string, len(acked))
	for addr, offset := range acked {
		go func() { // ends with ctx; its answer is waited for
			role, err := p.roleAt(ctx, addr, direct)
			if err != nil || !role.primary || role.offset < offset {
				addr = ""
			}
			answers <- addr
		}()
	}
	for range acked {
		promoted = max(promoted, <-answers)
	}
	return promoted
}

// named records the server that a Sentinel named, and passes the connection to a call that waits for one. One that
// cannot be dialled is trusted if it was known before: where nobody gets a new connection, those that stand must stay.
func (p *primary) named(addr string, conn net.Conn) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if conn == nil {
		if addr == p.trust.addr {
			p.trust.again(time.Now())
		}
		return
	}
	if p.trust.addr != "" && addr != p.trust.addr {
		p.replaced()
	}
	p.direct = p.straight(conn)
	p.trust.begin(addr, time.Now())
	if p.waiting == 0 || p.fresh != nil {
		_ = conn.Close()
	} else {
		p.fresh = conn
	}
}

// lapsed reports that trust in a primary has ended.
func (p *primary) lapsed(now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.trust.lapsed(now)
}

// stale reports that a primary was not confirmed for so long that a Sentinel must be asked.
func (p *primary) stale(now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.trust.stale(now)
}

// namedSince reports that a Sentinel has named the trusted primary since a time, or it was confirmed.
func (p *primary) namedSince(at time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.trust.confirmed.After(at)
}

// heard examines what a server answered to ROLE, for which it was asked at some moment.
func (p *primary) heard(r *primaryRole, at time.Time, from string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if from == p.trust.addr {
		p.trust.heard(r, at)
	}
}

// again returns a dialer for the server at the other end of a connection, without Sentinels; nil if only the
// application's own dialer can make such a connection. One without TLS is never made in place of one with it.
func again(conn net.Conn, secure *tls.Config, limit time.Duration) dial {
	o := redis.Options{DialTimeout: limit}
	switch c := conn.(type) {
	case *net.TCPConn:
		if secure != nil {
			return nil
		}
	case *tls.Conn:
		if secure == nil {
			return nil
		}
		o.TLSConfig = secure.Clone()
		if name := c.ConnectionState().ServerName; name != "" {
			o.TLSConfig.ServerName = name
		}
	default:
		return nil
	}
	return redis.NewDialer(&o)
}
