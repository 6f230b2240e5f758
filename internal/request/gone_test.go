package request

import (
	"errors"
	"fmt"
	"testing"
	"testing/synctest"
	"time"

	"github.com/stretchr/testify/require"

	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/watchdog"
)

// movingStore has one node, whose address changes.
type movingStore struct {
	store.Store
	node string
}

func (m *movingStore) Name() string            { return "the store" }
func (m *movingStore) Node(string) string      { return m.node }
func (m *movingStore) Serves(node string) bool { return node == m.node }
func (m *movingStore) event(err error) Event   { return Event{Of: named{}, Node: m.node, Err: err} }
func (m *movingStore) moves(i int) (was string) {
	was, m.node = m.node, fmt.Sprint("10.0.0.", i, ":6379")
	return was
}

type named struct{ store.Rules }

func (named) Name() string { return "name" }

// lines are what is logged.
type lines []string

func (l *lines) add(text string, args ...any) {
	*l = append(*l, fmt.Sprintln(append([]any{text}, args[:2]...)...))
}

func newMovingSender() (*movingStore, *Sender, *lines) {
	at, log := &movingStore{}, &lines{}
	at.moves(0)
	return at, New(Config{
		Store: at, Clock: watchdog.NewClock(), Lease: 30 * time.Second, Warn: log.add, Info: log.add,
		Holds: func(string) int { return 0 },
	}), log
}

// kept is how many nodes something is noted of.
func (o *outages) kept() (answered, out int) {
	o.nodes.Range(func(_, _ any) bool { answered++; return true })
	return answered, len(o.all)
}

// Nodes come back under other addresses. What was noted of one that serves nothing any more goes when the next one
// answers, or does not (defect G11).
func TestWhatIsNotedOfNodesThatWereReplacedGoes(t *testing.T) {
	t.Parallel()
	at, s, _ := newMovingSender()
	for i := range 200 {
		was := at.moves(i)
		if i%3 > 0 {
			s.Noted(at.event(nil))
		}
		if i%2 > 0 {
			s.Noted(at.event(errors.New("broken")))
			s.Renewed(at.event(errors.New("broken")), 0, 1)
		}
		s.Noted(Event{Of: named{}, Node: was, Err: errors.New("broken, and told late")})
		s.Noted(Event{Of: named{}, Node: was})
		answered, out := s.outages.kept()
		require.LessOrEqual(t, answered, 1)
		require.LessOrEqual(t, out, 2)
		require.EqualValues(t, out, s.outages.open.Load())
	}
}

// An outage that the log has ends there, too, when its node is replaced.
func TestTheOutageOfANodeThatWasReplacedIsOver(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at, s, log := newMovingSender()
		fails := func() {
			s.Noted(at.event(errors.New("broken")))
			time.Sleep(time.Minute)
			s.Noted(at.event(errors.New("broken")))
		}
		fails()
		was := at.moves(1)
		fails()
		require.Equal(t, lines{
			"the store is unavailable; calls wait for it, and holds last until their leases end node 10.0.0.0:6379\n",
			"the node was replaced node 10.0.0.0:6379\n",
			"the store is unavailable; calls wait for it, and holds last until their leases end node 10.0.0.1:6379\n",
		}, *log)
		s.Noted(Event{Of: named{}, Node: was, Err: errors.New("broken, and told late")})
		at.moves(2)
		s.Noted(at.event(nil))
		require.Len(t, *log, 4)
		require.Equal(t, "the node was replaced node 10.0.0.1:6379\n", (*log)[3])
	})
}

// A cluster that is not known yet has one node without a name. Its outage is over when the cluster is known.
func TestTheOutageOfAClusterThatIsNotKnownYet(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		at, s, log := newMovingSender()
		at.node = ""
		s.Noted(at.event(errors.New("broken")))
		time.Sleep(time.Minute)
		s.Noted(at.event(errors.New("broken")))
		at.moves(1)
		s.Noted(at.event(nil))
		require.Len(t, *log, 2)
		require.Contains(t, (*log)[1], "the store is available again")
	})
}
