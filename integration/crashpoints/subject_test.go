package crashpoints_test

import (
	"context"
	"encoding/json"
	"fmt"
	"os"
	"sync"
	"time"

	"go.uber.org/goleak"

	"github.com/holdfast-go/holdfast/internal/crash"
	"github.com/holdfast-go/holdfast/internal/testkit/role"
	"github.com/holdfast-go/holdfast/internal/testkit/stamp"
	"github.com/holdfast-go/holdfast/lock"
)

// orders are a subject's task.
type orders struct {
	Site     string
	Addr     string
	Point    crash.Point
	Passing  int
	Action   action
	Scenario scenario
	Lease    time.Duration
}

// subject is the process that is struck.
type subject struct {
	orders
	store  *dialled
	client client
	lock   *lock.Lock
	ctx    context.Context // of the scenario's calls
	cancel context.CancelFunc
	going  chan struct{} // closed when the parent has done its part of the strike
	healed chan struct{} // closed when no fault is left
	struck chan struct{} // closed when the strike is over

	before func(crash.Point) error // what a scenario does at a point, besides the strike

	out    sync.Mutex // guards standard output
	mu     sync.Mutex // guards all below
	counts map[crash.Point]int
	exempt bool // points that are passed now do not count
	stays  map[*staying]bool
	ids    int
	stall  time.Duration
}

// subjects are processes that are struck. This is the whole life of one.
var subjects = role.New("subject", func(o orders) {
	s := &subject{
		orders: o,
		going:  make(chan struct{}), healed: make(chan struct{}), struck: make(chan struct{}),
		counts: make(map[crash.Point]int), stays: make(map[*staying]bool),
	}
	go s.listen()
	go s.beat()
	leaks := goleak.IgnoreCurrent()
	s.ctx, s.cancel = context.WithCancel(context.Background())
	var err error
	s.store, err = sites[o.Site].dial(o.Addr)
	role.Check(err)
	s.client = s.newClient()
	s.lock = s.client.Lock(lockName)
	crash.Set(s.strike)
	s.play()
	s.after()
	s.call("close", "nil", s.client.Close)
	s.cancel()
	s.store.hangUp()
	s.leaks(leaks)
	s.mu.Lock()
	s.tell(report{Kind: stalled, Text: s.stall.String()})
	s.mu.Unlock()
	s.tell(report{Kind: done})
})

func (s *subject) newClient() client {
	made, err := s.store.client(s.Lease)
	role.Check(err)
	return made
}

// after checks that the same process can take the lock when the fault is over.
func (s *subject) after() {
	s.await(s.struck)
	s.await(s.healed)
	of := s.client
	if s.Scenario == closing {
		of = s.newClient()
		defer func() { s.call("close again", "nil", of.Close) }()
	}
	ctx, cancel := context.WithTimeout(context.Background(), patience/2)
	defer cancel()
	if st := s.enter("lock after", "nil", ctx, of.Lock(lockName)); st != nil {
		s.exit("unlock after", "nil", st)
	}
}

// await waits for c, but not for ever: if nothing comes, the reports show what is missing.
func (s *subject) await(c <-chan struct{}) {
	select {
	case <-c:
	case <-time.After(patience / 4):
	}
}

// listen follows the parent's commands.
func (s *subject) listen() {
	for {
		switch role.Told() {
		case "go":
			close(s.going)
		case "healed":
			close(s.healed)
		}
	}
}

// beat measures how badly this process is starved of processors.
func (s *subject) beat() {
	const beat = 5 * time.Millisecond
	for last := stamp.Now(); ; {
		time.Sleep(beat)
		at := stamp.Now()
		s.mu.Lock()
		s.stall = max(s.stall, at-last-beat)
		s.mu.Unlock()
		last = at
	}
}

// tell writes a report at once, so that it survives this process.
func (s *subject) tell(r report) {
	r.At = stamp.Now()
	text, err := json.Marshal(r)
	if err != nil {
		panic(err)
	}
	s.out.Lock()
	defer s.out.Unlock()
	_, _ = os.Stdout.Write(append(text, '\n'))
}

// call reports the outcome of fn.
func (s *subject) call(name, want string, fn func() error) error {
	start := stamp.Now()
	err := fn()
	c := &callReport{Name: name, Took: stamp.Now() - start, Word: word(err), Want: want}
	if err != nil {
		c.Error = err.Error()
	}
	s.tell(report{Kind: called, Call: c})
	return err
}

// leaks reports goroutines that are left. A go-redis client that could not connect has one that sleeps for a second
// before it sees that the client was closed.
func (s *subject) leaks(known goleak.Option) {
	for end := stamp.Now() + slack; ; {
		err := goleak.Find(known)
		if err == nil {
			return
		}
		if stamp.Now() > end {
			s.tell(report{Kind: leaked, Text: fmt.Sprint(err)})
			return
		}
	}
}
