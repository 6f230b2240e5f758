package conformance

import (
	"context"
	"log/slog"
	"sync"
	"time"

	"github.com/holdfast-go/holdfast/lock"
)

// Listener is code of the application that a client calls: its observer, and the handler of its logger. It does what a
// case has it do. The zero Listener does nothing, and is ready to use. All its methods may be called by any goroutine.
type Listener struct {
	mu    sync.Mutex // guards hears
	hears func(Event)
}

// Event is one call of a Listener. Only events of calls and holds have a context and a call.
type Event struct {
	Name string // of the function of lock.Observer, or "Log"
	Ctx  context.Context
	Call lock.Call
	Err  error
}

// Hear has each event from now on call a function; nil: none.
func (l *Listener) Hear(hears func(Event)) {
	l.mu.Lock()
	defer l.mu.Unlock()
	l.hears = hears
}

func (l *Listener) tell(e Event) {
	l.mu.Lock()
	hears := l.hears
	l.mu.Unlock()
	if hears != nil {
		hears(e)
	}
}

// Observer returns what the client is made with.
func (l *Listener) Observer() *lock.Observer {
	begins := func(name string) func(context.Context, lock.Call) context.Context {
		return func(ctx context.Context, call lock.Call) context.Context {
			l.tell(Event{name, ctx, call, nil})
			return nil
		}
	}
	ends := func(name string) func(context.Context, lock.Call, time.Duration, error) {
		return func(ctx context.Context, call lock.Call, _ time.Duration, err error) {
			l.tell(Event{name, ctx, call, err})
		}
	}
	return &lock.Observer{
		Begin: begins("Begin"), End: ends("End"), Held: begins("Held"), Ended: ends("Ended"),
		Renewed: func(r lock.Renewal) { l.tell(Event{Name: "Renewed", Err: r.Err}) },
		Lost:    func(err *lock.LostError) { l.tell(Event{Name: "Lost", Err: err}) },
		Command: func(c lock.Command) { l.tell(Event{Name: "Command", Err: c.Err}) },
	}
}

// Logger returns what the client is made with. It writes nothing.
func (l *Listener) Logger() *slog.Logger { return slog.New(handler{l}) }

type handler struct{ of *Listener }

func (h handler) Enabled(context.Context, slog.Level) bool { return true }
func (h handler) WithAttrs([]slog.Attr) slog.Handler       { return h }
func (h handler) WithGroup(string) slog.Handler            { return h }

func (h handler) Handle(context.Context, slog.Record) error {
	h.of.tell(Event{Name: "Log"})
	return nil
}
