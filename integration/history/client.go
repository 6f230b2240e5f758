package history

import (
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"runtime"
	"strconv"
	"strings"
	"sync"
	"sync/atomic"
	"time"

	"go.uber.org/goleak"

	"github.com/holdfast-go/holdfast/internal/testkit/role"
	"github.com/holdfast-go/holdfast/lock"
)

// orders are what a client process is told.
type orders struct {
	Addr    string
	Number  int
	Lease   time.Duration
	Seed    uint64
	Workers int
	Site    Site
	Forgets bool // the store may forget holds
	Linger  bool
}

// clients are processes that follow the commands below. A program that calls [Run], or a test of it, calls [role.Play]
// first.
var clients = role.New("client", func(o orders) { role.Check(runClient(o, os.Stdout)) })

// ownName is the name for which only the goroutines of one client contend.
func ownName(number int) string { return fmt.Sprint("history-own-", number) }

// names are what the clients contend for: few enough for queues in every process.
var names = []string{"history-a", "history-b", "history-c", "history-d", "history-e"}

// The commands to a client process, line by line.
const (
	sayRoam  = "roam"  // operations of every kind, until "pause"
	sayLive  = "live"  // a number of operations, each of which must succeed
	sayPause = "pause" // finish what is under way
	sayClose = "close" // close the client, report what is left, and end

	sayImport = "import" // name id token: take over a hold that another client exported
)

// client is a client process.
type client struct {
	orders
	store   lock.Provider
	hangUp  func() error // closes it, and what it is reached by
	own     string       // a name of its own
	may     []operation
	workers []*worker
	before  int           // goroutines
	known   goleak.Option // those
	imports chan passage
	stop    atomic.Bool
	running sync.WaitGroup

	mu  sync.Mutex // guards out
	out io.Writer
}

// passage is an exported hold in transit.
type passage struct{ name, id, token string }

func newClient(o orders, out io.Writer) (*client, error) {
	c := &client{
		orders: o, out: out, own: ownName(o.Number), may: o.operations(), imports: make(chan passage, 64),
		before: runtime.NumGoroutine(), known: goleak.IgnoreCurrent(),
	}
	var err error
	if c.store, c.hangUp, err = dial(o); err != nil {
		return nil, err
	}
	for i := range o.Workers {
		c.workers = append(c.workers, newWorker(c, strconv.Itoa(i), rand.New(rand.NewPCG(o.Seed, uint64(i)))))
	}
	return c, nil
}

// runClient follows commands until it is told to close.
func runClient(o orders, out io.Writer) error {
	c, err := newClient(o, out)
	if err != nil {
		return err
	}
	for {
		line := role.Told()
		order, argument, _ := strings.Cut(line, " ")
		switch order {
		case sayRoam:
			c.start(func(w *worker) {
				for !c.stop.Load() {
					w.roam()
				}
			})
		case sayLive:
			each, err := strconv.Atoi(argument)
			if err != nil {
				return err
			}
			c.start(func(w *worker) {
				for range each {
					w.live()
				}
			})
			c.running.Wait()
			c.paused()
		case sayPause:
			c.stop.Store(true)
			c.running.Wait()
			c.paused()
		case sayImport:
			c.offer(argument)
		case sayClose:
			return c.close()
		default:
			return fmt.Errorf("unknown order %q", line)
		}
	}
}

// paused reports that no worker is in a call, and how much memory is in use.
func (c *client) paused() {
	runtime.GC()
	var memory runtime.MemStats
	runtime.ReadMemStats(&memory)
	c.tell(fmt.Sprintln(linePaused, memory.HeapAlloc))
}

// offer leaves an exported hold to the next idle worker. If there are too many of them, or no worker runs
// any more, its lease runs out.
func (c *client) offer(argument string) {
	f := parse(argument)
	select {
	case c.imports <- passage{name: f.word(), id: f.word(), token: f.word()}:
	default:
	}
}

func (c *client) start(work func(*worker)) {
	c.stop.Store(false)
	for _, w := range c.workers {
		c.running.Go(func() { work(w) })
	}
}

// close closes the client and reports how many goroutines are left, and what they do.
func (c *client) close() error {
	if err := c.hangUp(); err != nil {
		return err // which would name locks that were not unlocked
	}
	var leaks error
	// The clients of the stores leave some that end by themselves: go-redis's dials take up to a second.
	for end := time.Now().Add(5 * time.Second); time.Now().Before(end); {
		if leaks = goleak.Find(c.known); leaks == nil {
			break
		}
	}
	what := "none"
	if leaks != nil {
		what = strings.Join(strings.Fields(leaks.Error()), " ")
	}
	c.tell(fmt.Sprintln(lineLeft, runtime.NumGoroutine()-c.before, what))
	return nil
}

// tell writes a line, in one piece.
func (c *client) tell(line string) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if _, err := io.WriteString(c.out, line); err != nil {
		os.Exit(1) // nobody reads any more
	}
}
