package redisstore

import (
	"context"
	"errors"
	"time"

	"github.com/holdfast-go/holdfast/internal/redisstore/luacall"
	"github.com/holdfast-go/holdfast/internal/serverclock"
	"github.com/holdfast-go/holdfast/internal/store"
)

// A Protocol is one primitive at one name in Redis: the requests of [store.Protocol] as scripts. A protocol leaves
// out what it does not support; see [Stepper] and the others.
//
// A method that takes a conn sends one script and returns its answer. It repeats nothing, and keeps no ask: the next
// sending has the same one with another window.
type Protocol interface {
	store.Rules

	Acquire(ctx context.Context, conn luacall.Conn, ask *Ask) (luacall.AcquireReply, error)

	// Release prepares the last release of a hold, which may be sent among others.
	Release(id string, sharded, wantNow bool) *luacall.Call[luacall.ReleaseReply]
}

// Ask is a request that must not be carried out late, as a script carries it out.
type Ask struct {
	store.Ask
	serverclock.Window
	Settled []luacall.Settled // requests of the name that Redis still remembers, and need not any more
}

// Remembered is the ask as the script of a name sees it whose requests Redis remembers by their ids, in a set.
func (a *Ask) Remembered(set string) luacall.Request {
	return luacall.Request{Key: set, ID: a.ID, NotAfter: a.NotAfter, Until: a.Until, Settled: a.Settled}
}

// A Rememberer is a protocol whose acquisitions Redis remembers by their ids, as it does with every [store.Change].
type Rememberer interface{ Remembers() }

// A Keeper is a protocol whose holds are renewed. Holds with equal renewers share a script.
type Keeper interface{ Renewer() Renewer }

// A Renewer prepares one script call that renews many holds. Implementations are comparable.
type Renewer interface {
	Renew(keys, ids []string, ttls []int64) *luacall.Call[[]luacall.RenewStatus]
}

// A Multiple is a Renewer whose holds have several entries of their keys each, as permits have.
type Multiple interface{ Entries() int }

// A Stepper is a protocol whose holds have a count of levels.
type Stepper interface {
	Levels(id string, from, to int64) *luacall.Call[int64]
}

// An Inspector is a protocol that supports Inspect.
type Inspector interface {
	Inspect(ctx context.Context, conn luacall.Conn, sharded bool) (luacall.InspectReply, error)
}

// A Queuer is a protocol whose waiters have a queue in Redis.
type Queuer interface {
	Enqueue(ctx context.Context, conn luacall.Conn, asks []Ask) (luacall.EnqueueReply, error)
}

// A Server is a protocol whose holds pass to others that have places in a queue in Redis; see [store.Protocol].
type Server interface {
	Serving(ids []string) Protocol
}

// A Retaining is a protocol whose releases can retain the lock for a time; see [store.Protocol].
type Retaining interface {
	Retaining(until int64, most time.Duration, as string) Protocol
}

// A Changer is a protocol with a number that is changed by what nobody holds.
type Changer interface {
	Change(ctx context.Context, conn luacall.Conn, what store.Change, ask *Ask) (luacall.CountReply, error)
}

// A SetMember is a protocol whose locks can be taken and released with others of their kind by one script,
// if their keys are in one slot.
type SetMember interface {
	Scripts() (*luacall.Acquirer, *luacall.Releaser)
}

// errUnsupported is never seen: the packages of the primitives do not offer what their protocols lack.
var errUnsupported = errors.New("this kind of lock has no such request")

// bound is a protocol with the store that its scripts are sent to.
//
// It is immutable, and its methods may be called by several goroutines. Each method reports to exec whether the
// script wrote anything on which somebody relies. Only then does WAIT follow: a refused request wrote nothing,
// and waiting for replicas of it would only delay the next attempt.
type bound struct {
	Protocol
	store *Store
}

// Bind gives a protocol the store that its scripts are sent to.
func (s *Store) Bind(p Protocol) store.Protocol { return &bound{p, s} }

// Unbind returns what [Store.Bind] was given.
//
// A protocol of another store is a mistake of this module, never of a user, so it panics.
func Unbind(p store.Protocol) Protocol { return p.(*bound).Protocol }

func (b *bound) Acquire(ctx context.Context, ask *store.Ask) (store.AcquireReply, store.Receipt, error) {
	all := Ask{Ask: *ask}
	if _, ok := b.Protocol.(Rememberer); ok {
		all.Settled = b.store.settled.take(b.Key())
	}
	var got luacall.AcquireReply
	send := func(
		ctx context.Context, conn luacall.Conn, within serverclock.Window,
	) (answer serverclock.Answer, wrote bool, err error) {
		all.Window = within
		got, err = b.Protocol.Acquire(ctx, conn, &all)
		wrote = got.Status.Wrote()
		b.store.noteUse(err == nil && wrote)
		return answered(got.Status, got.Now), wrote, err
	}
	receipt, err := b.store.timed(ctx, b.Key(), &all.Ask, send)
	if err != nil || got.Status != store.Held {
		b.store.settled.add(b.Key(), all.Settled) // to be said again
	}
	return got.AcquireReply, receipt, err
}

// Settled implements [store.Protocol].
func (b *bound) Settled(id string, late store.Late) {
	b.store.settled.add(b.Key(), []luacall.Settled{{ID: id, NotAfter: int64(late)}})
}

// Levels waits for no replicas: nothing depends on a count.
func (b *bound) Levels(ctx context.Context, id string, from, to int64) (stands int64, err error) {
	p, ok := b.Protocol.(Stepper)
	if !ok {
		return 0, &store.Refused{Err: errUnsupported}
	}
	err = b.store.exec(ctx, b.Key(), func(ctx context.Context, conn luacall.Conn) (wrote bool, err error) {
		stands, err = p.Levels(id, from, to).Run(ctx, conn)
		return false, err
	})
	return stands, err
}

func (b *bound) Enqueue(ctx context.Context, asks []store.Ask) (store.EnqueueReply, store.Receipt, error) {
	p, ok := b.Protocol.(Queuer)
	if !ok {
		return store.EnqueueReply{}, store.Receipt{}, &store.Refused{Err: errUnsupported}
	}
	all := make([]Ask, len(asks))
	for i, ask := range asks {
		all[i].Ask = ask
	}
	var got luacall.EnqueueReply
	send := func(
		ctx context.Context, conn luacall.Conn, within serverclock.Window,
	) (answer serverclock.Answer, wrote bool, err error) {
		all[0].Window = within
		got, err = p.Enqueue(ctx, conn, all)
		return answered(got.Status, got.Now), false, err // a lost place is registered again
	}
	receipt, err := b.store.timed(ctx, b.Key(), &all[0].Ask, send)
	return got.EnqueueReply, receipt, err
}

func (b *bound) Serving(ids []string) store.Protocol {
	if p, ok := b.Protocol.(Server); ok {
		return &bound{p.Serving(ids), b.store}
	}
	return b
}

// Retaining is asked for holds of kinds that have it.
func (b *bound) Retaining(until int64, most time.Duration, as string) store.Protocol {
	if p, ok := b.Protocol.(Retaining); ok {
		return &bound{p.Retaining(until, most, as), b.store}
	}
	return b
}

// Inspect only reads, so no replicas are waited for.
func (b *bound) Inspect(ctx context.Context) (luacall.InspectReply, error) {
	p, ok := b.Protocol.(Inspector)
	if !ok {
		return luacall.InspectReply{}, &store.Refused{Err: errUnsupported}
	}
	reply, err := p.Inspect(ctx, b.store.traffic, b.store.Sharded())
	return reply, meaning(err)
}

// Release waits for no replicas. If the primary fails before they have the release, the promoted one still has
// the hold, which then ends with its lease: a delay, and no second holder.
func (b *bound) Release(ctx context.Context, id string) (store.ReleaseReply, error) {
	reply, err := b.Protocol.Release(id, b.store.Sharded(), false).Run(ctx, b.store.traffic)
	if err != nil {
		return reply.ReleaseReply, meaning(err)
	}
	b.store.noteUnheard(b.Protocol, reply.ReleaseReply)
	return reply.ReleaseReply, nil
}

// Change alters a number that nobody holds, such as a latch's count. A change that was carried out is relied on
// like an acquisition.
//
// The ids that it says were answered are taken out of their list before it is sent, so that two requests do not both
// carry them; if it fails, they are put back.
func (b *bound) Change(
	ctx context.Context, what store.Change, ask store.Ask,
) (store.ChangeReply, store.Receipt, error) {
	p, ok := b.Protocol.(Changer)
	if !ok {
		return store.ChangeReply{}, store.Receipt{}, &store.Refused{Err: errUnsupported}
	}
	all := Ask{Ask: ask, Settled: b.store.settled.take(b.Key())}
	var got luacall.CountReply
	send := func(
		ctx context.Context, conn luacall.Conn, within serverclock.Window,
	) (answer serverclock.Answer, wrote bool, err error) {
		all.Window = within
		got, err = p.Change(ctx, conn, what, &all)
		return answered(got.Status, got.Now), got.Status.Wrote(), err
	}
	receipt, err := b.store.timed(ctx, b.Key(), &all.Ask, send)
	if err != nil || got.Status != store.Done {
		b.store.settled.add(b.Key(), all.Settled) // to be said again
	}
	return got.ChangeReply, receipt, err
}

// A Noting is a protocol whose holds are fields of a hash, beside which there is a key for a note of the holder; see
// [store.Noter].
type Noting interface {
	NoteKey() string
}

// Note waits for no replicas: nobody's exclusion depends on it.
func (b *bound) Note(ctx context.Context, note store.Note, take bool) (luacall.Status, error) {
	p, ok := b.Protocol.(Noting)
	if !ok {
		return 0, &store.Refused{Err: errUnsupported}
	}
	status, err := luacall.Note(b.Key(), p.NoteKey(), note, take).Run(ctx, b.store.traffic)
	return status, meaning(err)
}

// Noted implements [store.Noter].
func (b *bound) Noted(ctx context.Context) (store.Note, error) {
	p, ok := b.Protocol.(Noting)
	if !ok {
		return store.Note{}, &store.Refused{Err: errUnsupported}
	}
	note, err := luacall.Noted(b.Key(), p.NoteKey()).Run(ctx, b.store.traffic)
	return note, meaning(err)
}
