package pgstore

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-go/holdfast/internal/serverclock"
	"github.com/holdfast-go/holdfast/internal/store"
)

var errLocked = &store.Failure{
	Fault: store.FaultTransient, Answered: true, Locked: true,
	Err: errors.New("another transaction has locked the row"),
}

// release sends what frees locks. Nobody relies on a release but those who wait for it: if a crash of the server
// forgets it, the hold ends with its lease. So its commit waits for no disk. If it may have been refused because of the
// messages in it, it is sent again without.
func (s *Store) release(ctx context.Context, calls int, within func(b *pgx.Batch, by *releases)) error {
	send := func(by *releases) error {
		return s.send(ctx, s.conns.traffic, request{
			name: "release", calls: calls, within: func(b *pgx.Batch) { within(b, by) },
		})
	}
	if !s.messages.are(s.host.Clock.Now()) {
		return send(&s.place().sql.mute)
	}
	err := send(&s.place().sql.telling)
	if !untellable(err) {
		return err
	}
	switch again := send(&s.place().sql.mute); {
	case again == nil:
		s.silenced(err)
		return nil
	case errors.Is(again, store.ErrLate), errors.Is(again, store.ErrUnsent):
		return err
	default:
		return again
	}
}

func released(done, heard bool) (reply store.ReleaseReply) {
	switch {
	case !done:
		reply.Status = store.Gone
	case heard:
		reply.Status, reply.Receivers = store.Done, 1
	default:
		reply.Status = store.Done
	}
	return reply
}

// Release implements [store.Protocol].
func (l *Lock) Release(ctx context.Context, id string) (reply store.ReleaseReply, err error) {
	s := l.store
	if l.until > 0 {
		one := store.Parting{Proto: l, ID: id}
		if err = s.ReleaseAll(ctx, []*store.Parting{&one}); err == nil {
			reply, err = one.Reply, one.Err
		}
		return reply, err
	}
	var micros int64
	var timeline string
	sent := s.host.Clock.Now()
	err = s.release(ctx, 1, func(b *pgx.Batch, by *releases) {
		b.Queue(by.one, l.name, id, s.place().channel).QueryRow(func(row pgx.Row) error {
			var heard bool
			err := row.Scan(&heard, &micros, &timeline)
			reply = released(err == nil, heard)
			if errors.Is(err, pgx.ErrNoRows) {
				err = nil
			}
			return err
		})
	})
	switch {
	case err != nil:
		return store.ReleaseReply{}, err
	case reply.Status == store.Done:
		s.observe(sent, micros, timeline)
	}
	return reply, nil
}

// ReleaseAll implements [store.Store].
func (s *Store) ReleaseAll(ctx context.Context, all []*store.Parting) error {
	return s.releaseAll(ctx, all, func(by *releases) string { return by.all })
}

// ReleaseEach implements [store.Store]. Rows that are locked are left for the next time: one must not hold up the
// others.
func (s *Store) ReleaseEach(ctx context.Context, all []*store.Parting) {
	err := s.releaseAll(ctx, all, func(by *releases) string { return by.many })
	for _, one := range all {
		if err != nil {
			one.Err = err
		}
	}
}

// freed is what release_all.sql returns of a name.
type freed struct{ done, looked, heard bool }

func (s *Store) releaseAll(ctx context.Context, all []*store.Parting, of func(by *releases) string) error {
	var names, ids, as []string
	var until, most []int64
	for _, one := range all {
		l := one.Proto.(*Lock)
		names, ids, until, as = append(names, l.name), append(ids, one.ID), append(until, l.until), append(as, l.as)
		most = append(most, l.most.Microseconds())
	}
	var found []freed
	var micros int64
	var timeline string
	sent := s.host.Clock.Now()
	err := s.release(ctx, len(all), func(b *pgx.Batch, by *releases) {
		found = nil
		b.Queue(of(by), names, ids, until, as, s.place().channel, most).Query(func(rows pgx.Rows) error {
			for rows.Next() {
				var one freed
				if err := rows.Scan(&one.done, &one.looked, &one.heard, &micros, &timeline); err != nil {
					return err
				}
				found = append(found, one)
			}
			return rows.Err()
		})
	})
	switch {
	case err != nil:
		return err
	case len(found) != len(all):
		return errRows
	}
	s.observe(sent, micros, timeline)
	for i, one := range all {
		one.Reply, one.Err, one.Again = released(found[i].done, found[i].heard), nil, 0
		switch {
		case !found[i].looked:
			one.Err = errLocked
		case one.Late > 0:
			one.Again = serverclock.Again(one.Late, micros)
		}
	}
	return nil
}
