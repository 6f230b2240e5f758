package links

import (
	"context"
	"crypto/tls"
	"errors"
	"net"
	"slices"
	"sync"
	"time"

	"github.com/redis/go-redis/v9"
	"golang.org/x/sync/singleflight"
)

// primary is the primary that Sentinels watch, and whether it can be trusted to be one.
//
// Trust begins when a Sentinel names the server. It goes on while ROLE confirms two things: the server is a master, and
// every replica that it had since then has received all that was written until some recent moment. What was granted or
// renewed until that moment is on every server that the Sentinels may promote; so nobody else can have it before its
// lease ends, whichever server is the primary by now. It lasts until a while (trust) after the last such moment, or
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
// whether they were promoted: see inherit.
//
// Questions to the Sentinels go through the dialer that go-redis made, since a client of NewFailoverClient does not say
// where they are and how to log in. One at a time is under way, and it outlives its callers, because go-redis leaves a
// Sentinel that hangs only after its own time limits. Two at a time would disturb one another: a caller that waits for
// the other's answer until its context has ended closes the connection to the Sentinel that gave it.
//
// A connection that only the application's own dialer can make, since it wraps what it dials, needs a Sentinel each
// time. Those that are open are kept like all others.
type primary struct {
	ask    dial // asks a Sentinel, and dials the server that it names
	secure *tls.Config
	limit  time.Duration // of a dial, and of a question if no Sentinel is known
	hang   time.Duration // after which go-redis gives up one attempt to hear from a Sentinel
	trust  time.Duration

	replaced func()                   // is called when a Sentinel names another server than before
	straight func(conn net.Conn) dial // is reach
	roleAt   func(ctx context.Context, addr string, d dial) (*primaryRole, error)

	ctx    context.Context
	cancel context.CancelFunc
	asking sync.WaitGroup
	mu     sync.Mutex // guards all below, and asking against end

	questions singleflight.Group // to the Sentinels, one at a time; not guarded
	patience  time.Duration      // of the next one
	waiting   int                // calls that want a connection, and wait
	fresh     net.Conn           // for the first of them, from the question; nil: none

	addr      string        // whom a Sentinel named last; "": none did yet
	direct    dial          // dials it without a Sentinel; nil: only the application can
	confirmed time.Time     // when it was last known to be the one
	turned    chan struct{} // closed by the next such moment
	answered  time.Time     // when it last said that it is a master
	role      *primaryRole  // which was this answer; nil: none yet
	replicas  []string      // that it had since it was named, which have to confirm
	moments   []moment      // the last answers, while not all replicas have confirmed them
}

// moment is how far a primary's stream of writes had come.
type moment struct {
	at     time.Time
	offset int64
}

// leastTrust allows for replicas, which confirm once a second what they received, and for ROLE, which is asked for
// twice a second.
const leastTrust = 2500 * time.Millisecond

// staleAfter is when the Sentinels are asked about a primary that was not confirmed. It is soon enough for an answer
// before trust ends.
const staleAfter = 2 * time.Second

var (
	errUnconfirmed = errors.New("no Sentinel answers, and the last known primary does not confirm that it still has " +
		"its replicas")
	errUnnamed = errors.New("no Sentinel answers, and none has named a primary before")
	errSlow    = errors.New("the Sentinel does not answer in time")
)

func newPrimary(given *redis.Options, limits Limits, replaced func()) *primary {
	p := &primary{
		ask: given.Dialer, secure: given.TLSConfig, limit: greetingFor(limits.Command), hang: given.ReadTimeout,
		trust: max(limits.Life, leastTrust), turned: make(chan struct{}),
		replaced: replaced,
	}
	p.patience, p.straight = p.limit, p.reach
	p.ctx, p.cancel = context.WithCancel(context.Background())
	return p
}

// end cancels the questions, and waits for them. One to a Sentinel that hangs takes until the application's own time
// limit; only in a dialer that ignores its context it takes longer, and is left to end with that.
func (p *primary) end() {
	p.mu.Lock()
	p.cancel()
	p.mu.Unlock()
	ended := make(chan struct{})
	go func() { // ends with the questions
		p.asking.Wait()
		close(ended)
	}()
	select {
	case <-ended:
	case <-time.After(p.hang + time.Second):
	}
}

// dial connects to the primary, once it is trusted.
func (p *primary) dial(ctx context.Context, network, _ string) (net.Conn, error) {
	return p.connect(ctx, network, p.trusted)
}

// probe connects to the last known primary, trusted or not: to ask it for its role.
func (p *primary) probe(ctx context.Context, network, _ string) (net.Conn, error) {
	return p.connect(ctx, network, func(time.Time) bool { return p.addr != "" })
}

// connect dials the last known primary if it is good enough, and otherwise waits until it is, or a Sentinel answers.
//
// The question's own connection goes to one of those who wait for one; the others dial then.
func (p *primary) connect(ctx context.Context, network string, good func(time.Time) bool) (net.Conn, error) {
	for {
		p.mu.Lock()
		direct, addr, turned := p.direct, p.addr, p.turned
		if direct != nil && good(time.Now()) {
			p.mu.Unlock()
			return direct(ctx, network, addr)
		}
		p.waiting++
		p.mu.Unlock()
		conn, err := p.await(ctx, turned)
		if conn != nil || err != nil {
			return conn, err
		}
	}
}

// await returns what a question brought, or nothing if it is time to look again.
func (p *primary) await(ctx context.Context, turned <-chan struct{}) (net.Conn, error) {
	var err error
	select {
	case answer := <-p.inquire():
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
	case err == errUnconfirmed && p.addr == "":
		err = errUnnamed
	}
	return nil, err
}

// primaries asks the Sentinels for the primary, for a follower; and if none answers, and neither does the last known
// primary, its replicas.
func (p *primary) primaries(ctx context.Context) ([]string, error) {
	ctx, cancel := context.WithCancel(ctx)
	heir := p.inherit(ctx)
	var err error
	select {
	case answer := <-p.inquire():
		err = answer.Err
	case <-ctx.Done():
		err = ctx.Err()
	}
	if err == nil {
		cancel()
	}
	found := <-heir
	cancel()
	p.mu.Lock()
	defer p.mu.Unlock()
	if err != nil && found != "" {
		p.succeed(found)
		err = nil
	}
	return []string{p.addr}, err
}

// inherit asks the replicas of a primary that is silent whether they were promoted. The channel receives the one that
// was, or "", at the latest when ctx ends.
//
// A replica that has at least as much of the stream as it had confirmed, and calls itself a master now, was promoted. A
// replica that was only started anew, and waits to be made a replica again, is empty, or older.
func (p *primary) inherit(ctx context.Context) <-chan string {
	p.mu.Lock()
	defer p.mu.Unlock()
	found := make(chan string, 1)
	if p.direct == nil || p.role == nil || time.Since(p.answered) < rolePause+question {
		found <- ""
		return found
	}
	acked, direct := p.role.acked, p.direct
	answers := make(chan string, len(acked))
	for addr, offset := range acked {
		p.asking.Go(func() {
			role, err := p.roleAt(ctx, addr, direct)
			if err != nil || !role.primary || role.offset < offset {
				addr = ""
			}
			answers <- addr
		})
	}
	p.asking.Go(func() {
		best := ""
		for range acked {
			best = max(best, <-answers)
		}
		found <- best
	})
	return found
}

// succeed makes a promoted replica the primary. mu is held.
func (p *primary) succeed(addr string) {
	p.addr, p.role, p.replicas, p.moments = addr, nil, nil, nil
	p.confirm(time.Now())
}

// inquire asks the Sentinels, unless they are being asked already. The question outlives its callers; end waits for it.
func (p *primary) inquire() <-chan singleflight.Result {
	return p.questions.DoChan("", func() (any, error) {
		p.mu.Lock()
		if p.ctx.Err() != nil {
			p.mu.Unlock()
			return nil, net.ErrClosed
		}
		p.asking.Add(1)
		limit, began := p.patience, time.Now()
		p.mu.Unlock()
		defer p.asking.Done()
		ctx, cancel := context.WithTimeout(p.ctx, limit)
		defer cancel()
		conn, err := p.ask(impatient{ctx}, "tcp", sentinelAddr)
		p.mu.Lock()
		defer p.mu.Unlock()
		p.learn(time.Since(began), err)
		if err != nil {
			return nil, err
		}
		p.named(conn)
		if p.waiting == 0 || p.fresh != nil {
			_ = conn.Close()
		} else {
			p.fresh = conn
		}
		return nil, nil
	})
}

// learn decides how long the next question may take. mu is held.
//
// A Sentinel that is known answers as soon as before, and so does the server that it names. If that server cannot be
// dialled, the same question must be asked again soon, because it will be replaced. In all other cases go-redis asks
// anew, over new connections.
func (p *primary) learn(took time.Duration, err error) {
	if _, dialling := err.(*net.OpError); dialling { // of a Sentinel's connection it would be wrapped
		return
	}
	p.patience = p.limit
	if err == nil {
		p.patience = min(max(4*took, question), p.limit)
	}
}

// impatient is a context whose end go-redis takes for a failure of the Sentinel that it waits for.
//
// At the end of an ordinary context it returns, and stays with that Sentinel for ever, if all who ask it are in more
// of a hurry than it is with its own time limits. After another error it closes that connection, and asks all
// Sentinels at once with the next question.
type impatient struct{ context.Context }

// Err implements [context.Context].
func (i impatient) Err() error {
	if i.Context.Err() != nil {
		return errSlow
	}
	return nil
}

// named records the server that a Sentinel named. mu is held.
func (p *primary) named(conn net.Conn) {
	if addr := peerOf(conn); p.addr != "" && addr != p.addr {
		p.role = nil
		p.replaced()
	}
	p.addr, p.direct = peerOf(conn), p.straight(conn)
	p.replicas, p.moments = nil, nil
	p.confirm(time.Now())
}

// confirm records a moment at which the server was the primary, and wakes the dials that wait for it. mu is held.
func (p *primary) confirm(at time.Time) {
	p.confirmed = at
	close(p.turned)
	p.turned = make(chan struct{})
}

// reach returns a dialer for the server at the other end of a connection, without Sentinels; nil if only the
// application's own dialer can make such a connection. One without TLS is never made in place of one with it.
func (p *primary) reach(conn net.Conn) dial {
	o := redis.Options{DialTimeout: p.limit}
	switch c := conn.(type) {
	case *net.TCPConn:
		if p.secure != nil {
			return nil
		}
	case *tls.Conn:
		if p.secure == nil {
			return nil
		}
		o.TLSConfig = p.secure.Clone()
		if name := c.ConnectionState().ServerName; name != "" {
			o.TLSConfig.ServerName = name
		}
	default:
		return nil
	}
	return redis.NewDialer(&o)
}

// trusted reports that the last known primary needs no Sentinel. mu is held.
func (p *primary) trusted(now time.Time) bool {
	return p.addr != "" && now.Sub(p.confirmed) < p.trust
}

// lapsed reports that trust in a primary has ended.
func (p *primary) lapsed(now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.addr != "" && !p.trusted(now)
}

// stale reports that a primary was not confirmed for so long that a Sentinel must be asked.
func (p *primary) stale(now time.Time) bool {
	p.mu.Lock()
	defer p.mu.Unlock()
	return p.addr != "" && now.Sub(p.confirmed) >= staleAfter
}

// heard examines what a server answered to ROLE, for which it was asked at some moment.
func (p *primary) heard(r *primaryRole, at time.Time, from string) {
	p.mu.Lock()
	defer p.mu.Unlock()
	if from != p.addr {
		return
	}
	if !r.primary {
		p.confirmed = time.Time{}
		return
	}
	p.answered, p.role = at, r
	for _, one := range r.replicas {
		if !slices.Contains(p.replicas, one) {
			p.replicas = append(p.replicas, one)
		}
	}
	p.moments = append(slices.DeleteFunc(p.moments, func(m moment) bool { return at.Sub(m.at) >= p.trust }),
		moment{at, r.offset})
	for i := len(p.moments) - 1; i >= 0; i-- {
		if r.received(p.replicas, p.moments[i].offset) {
			p.confirm(p.moments[i].at)
			p.moments = p.moments[i+1:]
			return
		}
	}
}
