package pgproxy

import (
	"bytes"
	"sync"
	"testing"
	"time"
)

// waitLimit bounds every wait of a test for something that must happen.
const waitLimit = time.Minute

// Action is what happens to a request, and to its answer.
type Action struct {
	gate   *Gate // the request waits for it
	lost   bool  // the request is not forwarded, and the connection is cut
	answer answerFate
	commit bool // up to the end of a commit the answer passes
}

type answerFate int

const (
	answerPasses answerFate = iota
	answerCut               // the connection is cut when the answer has come
	answerLost              // the answer does not reach the client, whose connection stays
)

// The actions.
var (
	// Pass lets the request and its answer through. Use it to count requests.
	Pass = Action{}
	// CutAfter has the request carried out, and cuts the connection instead of passing the answer on.
	CutAfter = Action{answer: answerCut}
	// CutAfterCommit has the request carried out, and cuts the connection behind the answer to a COMMIT in it.
	CutAfterCommit = Action{answer: answerCut, commit: true}
	// CutBefore cuts the connection instead of forwarding the request.
	CutBefore = Action{lost: true}
	// DropAnswer has the request carried out and loses the answer. The connection stays open, and nothing comes on it
	// any more.
	DropAnswer = Action{answer: answerLost}
)

// Hold holds back the request until the gate opens.
func Hold(gate *Gate) Action { return Action{gate: gate} }

// Gate holds back what waits at it until it is opened. See [NewGate].
type Gate struct {
	opened, delivered chan struct{}
	open, deliver     sync.Once
}

// NewGate returns a closed gate.
func NewGate() *Gate { return &Gate{opened: make(chan struct{}), delivered: make(chan struct{})} }

// Open opens the gate for good: what arrives later passes at once.
func (g *Gate) Open() { g.open.Do(func() { close(g.opened) }) }

// Delivered is closed when the server has answered the first of the requests that waited.
func (g *Gate) Delivered() <-chan struct{} { return g.delivered }

// Rule applies an action to certain requests. [Proxy.On] makes rules.
type Rule struct {
	text   []byte
	action Action

	mu      sync.Mutex    // guards what follows
	times   int           // how often it applies, -1 for always
	taken   int           // requests it was applied to
	fired   int           // of these, how many the action is done with
	changed chan struct{} // closed and replaced when fired grows
}

// Times sets how often the rule applies in all: once by default, always if n is -1, and never again if it has applied n
// times already.
func (r *Rule) Times(n int) *Rule {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.times = n
	return r
}

// Fired returns how often the rule's action has happened: for a lost answer when the server has carried the request
// out, for a lost or held request when it has reached the proxy, for [Pass] when its answer has come.
func (r *Rule) Fired() int {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.fired
}

// Wait waits until the rule has fired n times, and fails the test if that takes too long.
func (r *Rule) Wait(t testing.TB, n int) {
	t.Helper()
	limit := time.NewTimer(waitLimit)
	defer limit.Stop()
	for {
		r.mu.Lock()
		fired, changed := r.fired, r.changed
		r.mu.Unlock()
		if fired >= n {
			return
		}
		select {
		case <-changed:
		case <-limit.C:
			t.Fatalf("pgproxy: the rule for %q fired %d times instead of %d within %v", r.text, fired, n, waitLimit)
		}
	}
}

func (r *Rule) take(request []byte) bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	if r.times >= 0 && r.taken >= r.times || !bytes.Contains(request, r.text) {
		return false
	}
	r.taken++
	return true
}

func (r *Rule) fire() {
	r.mu.Lock()
	defer r.mu.Unlock()
	r.fired++
	close(r.changed)
	r.changed = make(chan struct{})
}
