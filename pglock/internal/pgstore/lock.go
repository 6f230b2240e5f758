package pgstore

import (
	"context"
	"errors"
	"math"
	"slices"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-go/holdfast/internal/serverclock"
	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/lock"
)

// Lock is the protocol of the reentrant lock of one name. It is constant.
type Lock struct {
	store *Store
	name  string

	// Of a hold that is released before its MinHold is over: until when the lock is retained, in µs of the server's
	// clock, for how long at most, and as which id.
	until int64
	most  time.Duration
	as    string
}

var (
	_ store.Protocol = (*Lock)(nil)
	_ store.Noter    = (*Lock)(nil)
)

// Lock returns the protocol of a name, which must be one that PostgreSQL can store.
func (s *Store) Lock(name string) *Lock { return &Lock{store: s, name: name} }

// Name implements [store.Rules].
func (l *Lock) Name() string { return l.name }

// Key implements [store.Rules].
func (l *Lock) Key() string { return l.name }

// Mode implements [store.Rules].
func (l *Lock) Mode() string { return "" }

// Channel implements [store.Rules]. All names share a channel of PostgreSQL, whose messages name the lock.
func (l *Lock) Channel() string { return l.name }

// Excludes implements [store.Rules].
func (l *Lock) Excludes(string) bool { return true }

// Follows implements [store.Rules].
func (l *Lock) Follows(string) bool { return true }

// Inherits implements [store.Rules].
func (l *Lock) Inherits(string) bool { return true }

// Traits implements [store.Rules].
func (l *Lock) Traits() *store.Traits { return &traits }

// The store is not told how many levels a hold has: each would cost a commit, and nothing depends on it.
var traits = store.Traits{Kind: string(lock.KindLock), Passes: true, InSets: true, MinHold: true, Notes: true,
	Transactions: true}

// errUnsupported is never seen: package pglock does not offer what this store lacks.
var errUnsupported = errors.New("PostgreSQL keeps no such thing")

// Levels implements [store.Protocol]. It is not called: see traits.
func (l *Lock) Levels(context.Context, string, int64, int64) (int64, error) {
	return 0, &store.Refused{Err: errUnsupported}
}

// Change implements [store.Protocol]. There is no number.
func (l *Lock) Change(context.Context, store.Change, store.Ask) (store.ChangeReply, store.Receipt, error) {
	return store.ChangeReply{}, store.Receipt{}, &store.Refused{Err: errUnsupported}
}

// Enqueue implements [store.Protocol]. There is no queue.
func (l *Lock) Enqueue(context.Context, []store.Ask) (store.EnqueueReply, store.Receipt, error) {
	return store.EnqueueReply{}, store.Receipt{}, &store.Refused{Err: errUnsupported}
}

// Settled implements [store.Protocol]. No request is remembered by its id.
func (l *Lock) Settled(string, store.Late) {}

// Serving implements [store.Protocol].
func (l *Lock) Serving([]string) store.Protocol { return l }

// Retaining implements [store.Protocol].
func (l *Lock) Retaining(until int64, most time.Duration, as string) store.Protocol {
	return &Lock{store: l.store, name: l.name, until: until, most: most, as: as}
}

// stands is what look.sql returns of a name. Times are in µs of the server's clock.
type stands struct {
	name, id           string
	until, wanted, now int64
	fence              int64
	timeline           string
}

// of reports that the hold of this id stands.
func (one *stands) of(id string) bool { return one.id == id && !one.free() }

func (one *stands) free() bool { return one.until <= one.now }

// left is the rest of the lease, in whole milliseconds.
func (one *stands) left() time.Duration {
	left := time.Duration(one.until-one.now) * time.Microsecond
	return (left + time.Millisecond - 1).Truncate(time.Millisecond)
}

func scanStands(rows pgx.Rows) (all []stands, err error) {
	for rows.Next() {
		var one stands
		var until, wanted, now float64
		if err := rows.Scan(&one.name, &one.id, &until, &wanted, &one.fence, &now, &one.timeline); err != nil {
			return nil, err
		}
		one.until, one.wanted, one.now = micros(until), micros(wanted), micros(now)
		all = append(all, one)
	}
	return all, rows.Err()
}

// micros are the seconds of a clock in µs. Before its beginning everything is over, and centuries from now nothing is
// but what somebody wrote there.
func micros(seconds float64) int64 {
	const most = 8e9 // the year 2223
	return int64(math.Round(min(max(seconds, 0), most) * 1e6))
}

// attempt is one request that takes something, and what it found.
type attempt struct {
	take    func(b *pgx.Batch, notAfter int64) // queues what takes
	names   []string                           // in order
	id      string
	waits   bool   // somebody waits if the answer is "busy"
	insists bool   // a name without a row gets one, and what is free is asked for again
	trusted string // the timeline on which leases end by the server's clock, as the last request had it; "": any

	listens []string // the names for whose releases this client waits
	hears   bool     // it hears of them
	found   []stands
	makes   bool // a row was missing
}

// timed sends attempts, not later than the ask allows. A row that is missing is made, and one that became free in
// between is asked for again: nobody would tell that it is.
func (s *Store) timed(ctx context.Context, when store.Timing, a *attempt, taken func() bool) (store.Receipt, error) {
	r := serverclock.Request{Node: node, When: when}
	return s.clocks.Send(ctx, s.host.Clock.Now, r, func(within serverclock.Window) (serverclock.Answer, error) {
		unseen := 0
		for range 3 {
			sent := s.host.Clock.Now()
			r := a.request(s, within.NotAfter, taken)
			if err := s.send(s.Within(ctx, when.Within), s.conns.traffic, r); err != nil {
				return serverclock.Answer{}, err
			}
			if a.insists && len(a.found) < len(a.names) {
				if a.makes {
					unseen++
				}
				a.makes = true
				continue
			}
			if len(a.found) == 0 {
				break
			}
			now := a.found[0].now
			s.observe(sent, now, a.found[0].timeline)
			switch {
			case taken():
				return serverclock.Answer{Now: now}, nil
			case a.mine():
				if confirmed, err := s.confirm(s.Within(ctx, when.Within), a); confirmed || err != nil {
					return serverclock.Answer{Now: now}, err
				}
				a.found = nil // on another server, which is asked from here on
				continue
			case a.decided():
				return serverclock.Answer{Now: now}, nil
			case now > within.NotAfter:
				return serverclock.Answer{TooLate: true, Now: now}, nil
			case !a.insists:
				return serverclock.Answer{Now: now}, nil
			}
		}
		if unseen > 1 {
			return serverclock.Answer{}, errUnseenRow(s.table)
		}
		return serverclock.Answer{}, nil
	})
}

// request is the transaction: to take, to note that this client listens for what others have, to look. The one before
// it makes rows; the one behind it tells others that this client waits.
func (a *attempt) request(s *Store, notAfter int64, taken func() bool) request {
	r := request{name: "acquire", calls: len(a.names), relied: true, takes: true, wrote: taken}
	r.within = func(b *pgx.Batch) {
		a.take(b, notAfter)
		if a.listens, a.hears = s.hub.waiting(a.names); a.waits && len(a.listens) > 0 {
			b.Queue(s.place().sql.want, a.listens, a.id, (2 * s.poll).Milliseconds())
			a.reserve(s, b)
		}
		b.Queue(s.place().sql.look, a.names).Query(func(rows pgx.Rows) (err error) {
			a.found, err = scanStands(rows)
			return err
		})
	}
	r.after = func(b *pgx.Batch) {
		if !a.waits || len(a.listens) == 0 || !s.messages.are(s.host.Clock.Now()) {
			return
		}
		if anew := s.hub.announces(a.listens); len(anew) > 0 {
			b.Queue(s.place().sql.announce, s.place().channel, a.id, anew)
		}
	}
	if a.makes {
		r.before = func(b *pgx.Batch) { b.Queue(s.place().sql.insert, a.names) }
	}
	return r
}

// reserve notes that this client hears of no release, where it was passed over.
func (a *attempt) reserve(s *Store, b *pgx.Batch) {
	names, most := s.hub.passedOver(a.listens, s.host.Clock.Now())
	if at := s.place(); len(names) > 0 && at.sql.reserves {
		b.Queue(at.sql.reserve, names, a.id, most.Milliseconds())
	}
}

// mine reports that an earlier copy of the request has something, so that it did not matter whether this one came too
// late.
func (a *attempt) mine() bool {
	return slices.ContainsFunc(a.found, func(one stands) bool { return one.of(a.id) })
}

// decided reports the same of others, who have what the request wants, or may have it by the clock of another server.
// To take a hold over that others see is another matter: it may stand.
func (a *attempt) decided() bool {
	return a.insists && slices.ContainsFunc(a.found, func(one stands) bool {
		return !one.free() || one.id != "" && a.trusted != "" && a.trusted != one.timeline
	})
}

// again is how soon to ask again for what others have.
//
// A lock may be released just before a client that listens notes that, and be taken again just before it looks: nothing
// is noted then, since the lock was free, and what stands now would be released unheard.
func (a *attempt) again(one stands, poll time.Duration) time.Duration {
	noted := one.wanted-one.now >= poll.Microseconds()
	if a.waits && a.hears && slices.Contains(a.listens, one.name) && !noted {
		return lockedFor
	}
	return max(one.left(), lockedFor)
}

// polls is how soon to ask again for what others have, if this client hears of no release; 0: that is as usual.
func (s *Store) polls(a *attempt, one stands) time.Duration {
	if !a.waits {
		return 0
	}
	return s.hub.polls(one.name, one.id, s.host.Clock.Now())
}

// confirm makes sure that what an earlier copy took is where it must be. It is seen as soon as its commit stands on
// this server, be it that nobody waits for the standby any more: an operator, or the end of the connection, ends that
// wait.
//
// The connection may be one to another server than that which was asked: a standby that has taken over meanwhile, while
// the old primary lives on. There the rows may not have the id, or have it with another token, from another copy. Then
// confirm reports false, and what was seen is worth nothing.
func (s *Store) confirm(ctx context.Context, a *attempt) (confirmed bool, err error) {
	fences := make(map[string]int64)
	err = s.send(ctx, s.conns.traffic, request{
		name: "confirm", calls: len(a.names), relied: true,
		within: func(b *pgx.Batch) {
			b.Queue(s.place().sql.confirm, a.names, a.id).Query(func(rows pgx.Rows) error {
				var name string
				var fence int64
				_, err := pgx.ForEachRow(rows, []any{&name, &fence}, func() error {
					fences[name] = fence
					return nil
				})
				return err
			})
		},
	})
	return !slices.ContainsFunc(a.found, func(one stands) bool {
		return one.of(a.id) && fences[one.name] != one.fence
	}), err
}

// lockedFor is how soon to ask again for a lock that is free, and whose row is locked: by an attempt of another client,
// or by a transaction of Tx whose hold is over. No message tells when that ends. It is the same for a lock that went
// from hand to hand while this client could not note that it listens.
const lockedFor = 50 * time.Millisecond

// Acquire implements [store.Protocol].
func (l *Lock) Acquire(ctx context.Context, ask *store.Ask) (store.AcquireReply, store.Receipt, error) {
	var reply store.AcquireReply
	s, lease := l.store, ask.Lease.Milliseconds()
	a := &attempt{names: []string{l.name}, id: ask.ID, waits: !ask.Once, insists: ask.From == ""}
	took := func(row pgx.Row) error {
		reply = store.AcquireReply{}
		var last int64
		err := row.Scan(&reply.Fence, &last)
		if err == nil {
			reply.Status, reply.Spare = store.Held, spare(reply.Fence, last)
		} else if errors.Is(err, pgx.ErrNoRows) {
			err = nil
		}
		return err
	}
	a.take = func(b *pgx.Batch, notAfter int64) {
		a.trusted = s.trusts(ask.Lease)
		if ask.From != "" {
			b.Queue(s.place().sql.adopt, l.name, ask.ID, lease, notAfter, ask.From).QueryRow(took)
			return
		}
		if sql, deaf := s.place().sql, s.hub.isDeaf(); deaf || !s.settled(ask.Lease) {
			b.Queue(sql.acquireWary, l.name, ask.ID, lease, notAfter, a.trusted, deaf).QueryRow(took)
		} else {
			b.Queue(sql.acquire, l.name, ask.ID, lease, notAfter).QueryRow(took)
		}
	}
	receipt, err := s.timed(ctx, ask.Timing, a, func() bool { return reply.Status == store.Held })
	if err != nil {
		return store.AcquireReply{}, receipt, err
	}
	reply = l.answer(reply, a, ask)
	if reply.Status != store.Busy {
		s.hub.served(l.name)
	}
	return reply, receipt, nil
}

// spare is how many numbers below a token were never used, if the last one is known. Free rows may be deleted, and with
// them what is known of earlier tokens, so of a new row there is none.
func spare(fence, last int64) int64 {
	if last == 0 {
		return 0
	}
	return min(fence-last-1, mostSpare)
}

const mostSpare = 1023

// answer completes the answer of an attempt that took the lock, or did not.
func (l *Lock) answer(reply store.AcquireReply, a *attempt, ask *store.Ask) store.AcquireReply {
	var now stands
	if len(a.found) > 0 {
		now = a.found[0]
	}
	switch {
	case reply.Status == store.Held && ask.From != "":
		reply.Fence = 0
	case reply.Status == store.Held:
	case now.of(ask.ID):
		reply = store.AcquireReply{Status: store.Already, Fence: now.fence, PTTL: now.left()}
	case ask.From != "":
		reply = store.AcquireReply{Status: store.Gone}
	default:
		reply = store.AcquireReply{Status: store.Busy, PTTL: a.again(now, l.store.poll), Poll: l.store.polls(a, now)}
	}
	return reply
}

// AcquireAll implements [store.Store].
func (s *Store) AcquireAll(
	ctx context.Context, members []store.Member, id string, when store.Timing,
) (reply store.AcquireAllReply, receipt store.Receipt, err error) {
	names, leases := make([]string, len(members)), make([]int64, len(members))
	longest := time.Duration(0)
	for i, m := range members {
		names[i], leases[i] = m.Proto.Key(), m.Lease.Milliseconds()
		longest = max(longest, m.Lease)
	}
	var taken int64
	a := &attempt{names: names, id: id, waits: true, insists: true}
	a.take = func(b *pgx.Batch, notAfter int64) {
		a.trusted = s.trusts(longest)
		b.Queue(
			s.place().sql.acquireAll, names, id, leases, notAfter, a.trusted, s.hub.isDeaf(),
		).QueryRow(func(row pgx.Row) error { return row.Scan(&taken) })
	}
	if receipt, err = s.timed(ctx, when, a, func() bool { return taken > 0 }); err != nil {
		return reply, receipt, err
	}
	at := make(map[string]stands, len(names))
	for _, one := range a.found {
		at[one.name] = one
	}
	reply = store.AcquireAllReply{Status: store.Already, Fences: make([]int64, len(names))}
	if taken > 0 {
		reply.Status = store.Held
	}
	for i, name := range names {
		one := at[name]
		if !one.of(id) {
			return store.AcquireAllReply{
				Status: store.Busy, Which: i, PTTL: a.again(one, s.poll), Poll: s.polls(a, one),
			}, receipt, nil
		}
		reply.Fences[i] = one.fence
	}
	for _, name := range names {
		s.hub.served(name)
	}
	return reply, receipt, nil
}

// Inspect implements [store.Protocol].
func (l *Lock) Inspect(ctx context.Context) (store.InspectReply, error) {
	reply := store.InspectReply{PTTL: -1}
	var id *string
	var left *int64
	var wanted bool
	var by lockers
	at := l.store.place()
	err := l.store.query(ctx, "inspect", at.sql.inspect, []any{at.name, l.name}, func(row pgx.Row) error {
		err := row.Scan(&id, &left, &reply.Fence, &wanted, &by)
		if errors.Is(err, pgx.ErrNoRows) {
			return nil
		}
		return err
	})
	if err != nil {
		return store.InspectReply{}, err
	}
	reply.Transactions = by.transactions()
	if wanted {
		reply.Subscribers = 1 // at least: nobody is counted
	}
	if id != nil {
		reply.PTTL = time.Duration(*left) * time.Millisecond
		reply.Holders = []store.Holder{{ID: *id, Count: 1}}
	}
	return reply, nil
}

// Note implements [store.Noter].
func (l *Lock) Note(ctx context.Context, note store.Note, take bool) (status store.Status, err error) {
	text := &note.Text
	if take {
		text = nil
	}
	err = l.store.query(ctx, "note", l.store.place().sql.note, []any{l.name, note.ID, note.Fence, text},
		func(row pgx.Row) error {
			var holds, newest bool
			err := row.Scan(&holds, &newest)
			switch {
			case errors.Is(err, pgx.ErrNoRows), err == nil && !holds:
				status, err = store.Gone, nil
			case err == nil && !newest:
				status = store.Busy
			case err == nil:
				status = store.Done
			}
			return err
		})
	return status, err
}

// Noted implements [store.Noter].
func (l *Lock) Noted(ctx context.Context) (note store.Note, err error) {
	err = l.store.query(ctx, "noted", l.store.place().sql.noted, []any{l.name}, func(row pgx.Row) error {
		err := row.Scan(&note.ID, &note.Fence, &note.Since, &note.Text)
		if errors.Is(err, pgx.ErrNoRows) {
			note, err = store.Note{}, nil
		}
		return err
	})
	return note, err
}
