package etcdstore

import (
	"context"
	"reflect"
	"sync"
	"sync/atomic"
	"time"

	pb "go.etcd.io/etcd/api/v3/etcdserverpb"
	clientv3 "go.etcd.io/etcd/client/v3"
	"google.golang.org/grpc"
	"google.golang.org/grpc/connectivity"

	"github.com/holdfast-go/holdfast/internal/store"
)

// routes lead a client to etcd: the connections of the application's client, and one of our own while those are silent.
//
// A balancer or a firewall forgets a connection and tells neither side, and a server that stands still keeps it open:
// for as long as the kernel tries, which is minutes, whatever is sent on it has no answer. So silence is held against
// the connection first. A request without an answer after half of its time is sent once more, by a new connection,
// which is made as the application's client makes its own, to the first server that answers a read which needs a
// majority. It is used from then on until it breaks, is silent in its turn, or leads to a server that has lost its
// leader. Then requests are the application's connections' again, of which there may be one to each of several servers.
type routes struct {
	store     *Store
	given     route
	repeats   bool            // requests may be sent once more
	copied    clientv3.Client // the application's client as it was when it was given
	searching chan struct{}   // has room for the request that makes a connection
	running   sync.WaitGroup

	mu     sync.Mutex // guards what follows, and users and over of routes
	own    *route     // nil: those of the application are used
	closed bool
}

// route is a connection, or several.
type route struct {
	conn  *grpc.ClientConn
	kv    clientv3.KV
	lease clientv3.Lease
	heard atomic.Int64 // when something came on it last, by the client's clock; 0: nothing did

	users int  // of one of our own
	over  bool // it is closed with its last user
}

// init begins with the connections of the application's client. If that has a KV which the application has put in the
// place of its own, nothing is sent in another way: such a one may ask for other keys, as that of package namespace.
func (l *routes) init(s *Store) {
	l.store, l.searching = s, make(chan struct{}, 1)
	if cli := s.cli; cli != nil {
		l.given.conn, l.given.kv, l.given.lease = cli.ActiveConnection(), cli.KV, cli.Lease
		cli.Endpoints() // what was set before comes before the copy
		l.copied = *cli
		l.repeats = reflect.TypeOf(cli.KV) == reflect.TypeOf(clientv3.NewKVFromKVClient(nil, nil))
	}
}

// take is the route for a request, which gives it back.
func (l *routes) take() *route {
	l.mu.Lock()
	own := l.own
	if own != nil && own.conn.GetState() == connectivity.Ready {
		own.users++
		l.mu.Unlock()
		return own
	}
	l.mu.Unlock()
	l.leave(own)
	return &l.given
}

// give gives a route back.
func (l *routes) give(on *route) {
	if on == &l.given {
		return
	}
	l.mu.Lock()
	on.users--
	ends := on.over && on.users == 0
	l.mu.Unlock()
	if ends {
		on.close()
	}
}

// leave has a route of our own be used no more. Requests that are on it go on.
func (l *routes) leave(on *route) {
	if on == nil || on == &l.given {
		return
	}
	l.mu.Lock()
	ends := !on.over && on.users == 0
	on.over = true
	if l.own == on {
		l.own = nil
	}
	l.mu.Unlock()
	if ends {
		on.close()
	}
}

// hears notes that something came on a route.
func (l *routes) hears(on *route) { on.heard.Store(int64(l.store.host.Clock.Now())) }

// silent reports that nothing came on a route for some time. Where it has connections to several servers, one of them
// may be silent all the same.
func (l *routes) silent(on *route, quiet time.Duration) bool {
	if on == &l.given && len(l.store.cli.Endpoints()) > 1 {
		return true
	}
	heard := time.Duration(on.heard.Load())
	return heard == 0 || l.store.host.Clock.Now()-heard >= quiet
}

// instead finds a route that takes the place of a silent one; nil if there is none in time.
func (l *routes) instead(ctx context.Context, silent *route) *route {
	if !l.repeats {
		return nil
	}
	select {
	case l.searching <- struct{}{}:
		defer func() { <-l.searching }()
	case <-ctx.Done():
		return nil
	}
	now := l.take()
	if now != silent && now != &l.given { // another request has found it meanwhile
		return now
	}
	l.give(now)
	found := l.search(ctx)
	if found == nil {
		return nil
	}
	l.leave(silent)
	l.mu.Lock()
	if l.closed {
		l.mu.Unlock()
		found.close()
		return nil
	}
	l.own = found
	found.users++
	l.mu.Unlock()
	l.store.watcher.restart()
	return found
}

// search makes a connection to each server, and returns the one whose server answers first.
func (l *routes) search(ctx context.Context) *route {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	endpoints := l.store.cli.Endpoints()
	opened := make(chan *route)
	for _, endpoint := range endpoints {
		l.run(func() {
			one := l.open(ctx, endpoint)
			select {
			case opened <- one:
			case <-ctx.Done():
				one.close()
			}
		})
	}
	for range endpoints {
		select {
		case one := <-opened:
			if one != nil {
				return one
			}
		case <-ctx.Done():
			return nil
		}
	}
	return nil
}

func (l *routes) run(f func()) {
	l.mu.Lock()
	defer l.mu.Unlock()
	if !l.closed {
		l.running.Go(f)
	}
}

// apart is a client like the application's. The endpoints that it has are those of before, and it needs none to dial.
// To copy those of now, or to have the application's client dial, would be to read them while others are being set.
func (l *routes) apart() *clientv3.Client {
	apart := l.copied
	apart.Username, apart.Password = l.store.cli.Username, l.store.cli.Password
	return &apart
}

// open makes a connection to a server, as the application's client would; nil if that does not answer. By it the client
// logs in for each stream: that of the application is silent.
func (l *routes) open(ctx context.Context, endpoint string) *route {
	cli := l.apart()
	conn, err := cli.Dial(endpoint)
	if err != nil {
		return nil
	}
	cli.Auth = clientv3.NewAuthFromAuthClient(pb.NewAuthClient(conn), cli)
	one := &route{conn: conn, kv: clientv3.NewKVFromKVClient(pb.NewKVClient(conn), cli)}
	one.lease = clientv3.NewLeaseFromLeaseClient(pb.NewLeaseClient(conn), cli, l.store.lease)
	_, err = one.kv.Get(ctx, l.store.baseKey())
	if fault := store.FaultOf(meaning(err)); fault != store.FaultNone && fault != store.FaultDefinite {
		one.close()
		return nil
	}
	ready(ctx, conn)
	l.hears(one)
	return one
}

// ready waits until a connection that has answered reports that it is ready, which it does a moment later. Otherwise
// take would conclude that it is broken, and leave it.
func ready(ctx context.Context, conn *grpc.ClientConn) {
	for now := conn.GetState(); now == connectivity.Connecting; now = conn.GetState() {
		if !conn.WaitForStateChange(ctx, now) {
			return
		}
	}
}

func (on *route) close() {
	if on != nil {
		_ = on.lease.Close()
		_ = on.conn.Close()
	}
}

// close ends the connection of our own.
func (l *routes) close() {
	l.mu.Lock()
	l.closed = true
	own := l.own
	l.mu.Unlock()
	l.leave(own)
	l.running.Wait()
}

// ask sends a request, and sends it once more by another route if its own is silent for half of the time that there is.
// The first answer counts. Twice says that both may be carried out.
func ask[T any](
	ctx context.Context, s *Store, send func(ctx context.Context, on *route) (T, error),
) (reply T, twice bool, err error) {
	at, _ := ctx.Deadline()
	half := time.Until(at) / 2
	on := s.routes.take()
	defer s.routes.give(on)
	if half <= 0 || !s.routes.repeats {
		reply, err = send(ctx, on)
		return reply, false, err
	}
	first, cancel := context.WithCancel(ctx)
	defer cancel()
	second, drop := context.WithCancel(ctx)
	defer drop()
	var copied T
	done := false // copied is an answer
	over := make(chan struct{})
	timer := time.AfterFunc(half, func() {
		defer close(over)
		if !s.routes.silent(on, half/2) {
			return
		}
		next := s.routes.instead(second, on)
		if next == nil {
			return
		}
		defer s.routes.give(next)
		twice = true
		if got, failed := send(second, next); failed == nil {
			copied, done = got, true
			s.routes.hears(next)
			cancel()
		}
	})
	reply, err = send(first, on)
	if answered(err) {
		s.routes.hears(on)
		drop()
	}
	if !timer.Stop() {
		<-over
	}
	s.routes.judge(on, err)
	if err != nil && done {
		return copied, twice, nil
	}
	return reply, twice, err
}

// judge leaves a route of our own whose server does not answer, has lost its leader, or does not know the user.
func (l *routes) judge(on *route, err error) {
	if err != nil && (!answered(err) || leaderless(err) || store.Denied(meaning(err))) {
		l.leave(on)
	}
}
