package holdfasttest

import (
	"log/slog"
	"slices"
	"sync"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/engine"
	"github.com/holdfast-go/holdfast/internal/memstore"
	"github.com/holdfast-go/holdfast/internal/redisclient"
	"github.com/holdfast-go/holdfast/rlock"
)

// Lab is a store in memory and the clients on it. All methods are safe for concurrent use, but those that can end the
// test (Client, HoldElsewhere, Lose, Advance) must be called by its goroutine.
type Lab struct {
	t      testing.TB
	server *memstore.Server
	net    network

	steps sync.Mutex // held while the clocks are put forward; taken before mu

	mu      sync.Mutex // guards all below
	members []*member
	others  [firstMember]*member // which hold what HoldElsewhere was asked for; nil: nothing yet
	prefix  string               // of the newest client
	frozen  bool
}

// member is a process that contends for locks.
type member struct {
	client *rlock.Client
	engine *engine.Engine
	store  *memstore.Store
	lease  time.Duration
}

// New makes a lab that lasts as long as the test. At its end the clients are closed, and the test fails if a lock is
// still held: the error names it.
func New(t testing.TB) *Lab {
	t.Helper()
	l := &Lab{t: t}
	l.server = memstore.NewServer(&l.net)
	t.Cleanup(l.close)
	return l
}

// Client makes a client on the lab's store, as rlock.NewClient makes one on Redis. Each is a process of its own.
// Options are checked as there; MinReplicas and Fsync have no meaning. A client without a Logger logs nothing. The lab
// closes it, so the test need not.
func (l *Lab) Client(opts *rlock.ClientOptions) *rlock.Client {
	l.t.Helper()
	var o rlock.ClientOptions
	if opts != nil {
		o = *opts
	}
	l.mu.Lock()
	defer l.mu.Unlock()
	m := l.openLocked(o, firstMember+len(l.members))
	l.members = append(l.members, m)
	l.prefix = o.Prefix
	return m.client
}

// The numbers of clients, by which the network knows them.
const (
	elsewhere = iota // holds reentrant locks
	writing          // elsewhere: holds the write sides of read-write locks
	firstMember
)

// openLocked makes a client. Its store is one whose requests return when their context ends, as those to a single
// Redis do.
func (l *Lab) openLocked(o rlock.ClientOptions, number int) *member {
	l.t.Helper()
	if o.Logger == nil {
		o.Logger = slog.New(slog.DiscardHandler)
	}
	checked, err := redisclient.Options(o).Checked()
	if err != nil {
		l.t.Fatalf("holdfasttest: %v", err)
	}
	st := l.server.Store(number, true)
	made, err := redisclient.On(checked, redisclient.ByRules(st), false)
	if err != nil {
		l.t.Fatalf("holdfasttest: %v", err)
	}
	core, err := made.Core()
	if err != nil {
		l.t.Fatalf("holdfasttest: %v", err)
	}
	return &member{client: (*rlock.Client)(made), engine: core.Engine, store: st, lease: core.Lease}
}

// elsewhere is a client that is nobody's of the test. The names of its locks are their keys.
func (l *Lab) elsewhere(number int) *rlock.Client {
	l.mu.Lock()
	defer l.mu.Unlock()
	if l.others[number] == nil {
		l.others[number] = l.openLocked(rlock.ClientOptions{}, number)
	}
	return l.others[number].client
}

// key is that of a name of the newest of the test's clients.
func (l *Lab) key(name string) string {
	l.mu.Lock()
	defer l.mu.Unlock()
	return l.prefix + name
}

// all are the members, and those elsewhere.
func (l *Lab) all() []*member {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := slices.Clone(l.members)
	for _, m := range l.others {
		if m != nil {
			all = append(all, m)
		}
	}
	return all
}

// close ends everything. The store is made to answer again first, or each client would try to release for as long as
// its ReleaseTimeout.
func (l *Lab) close() {
	l.t.Helper()
	l.net.drop(0)
	l.Thaw()
	for _, m := range l.all() {
		if err := m.client.Close(); err != nil && !slices.Contains(l.others[:], m) {
			l.t.Errorf("holdfasttest: an unlock was forgotten: %v", err)
		}
	}
	l.server.Close()
}
