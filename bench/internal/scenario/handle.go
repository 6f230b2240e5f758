package scenario

import (
	"context"
	"errors"

	"github.com/holdfast-go/holdfast/bench/internal/contender"
)

// perCall makes a handle for every call, as an application does whose locks are named by an id.
type perCall struct {
	client contender.Client
	names  []string
	lock   contender.Lock
}

func (p *perCall) Lock(ctx context.Context) error {
	p.lock = p.client.Lock(p.names...)
	return p.lock.Lock(ctx)
}

func (p *perCall) Unlock() error { return p.lock.Unlock() }

// byID returns a lock whose handle is made by every call, unless the contender is a floor, which has none, or the
// one that shows what a handle that is kept is worth. Its names are made once, as is what a contender is to be
// kept apart by.
func (l *Lab) byID(client contender.Client, names ...string) contender.Lock {
	if contender.Floor(l.Contender) || l.Contender == contender.OursKept {
		return client.Lock(names...)
	}
	of := client.(named)
	return &perCall{client: of.Client, names: of.own(names)}
}

// refused is a handle whose Lock asks for what another holds, and returns when that was told.
type refused struct{ contender.Trier }

var errHad = errors.New("got a lock that another holds")

func (r refused) Lock(ctx context.Context) error {
	got, err := r.TryLock(ctx)
	if got {
		err = errHad
	}
	return err
}

func (r refused) Unlock() error { return nil }
