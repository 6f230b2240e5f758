package pgstore

import (
	"context"
	"errors"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-go/holdfast/internal/serverclock"
	"github.com/holdfast-go/holdfast/internal/store"
)

var errLocked = &store.Failure{
	Fault: store.FaultTransient, Answered: true, Err: errors.New("another transaction has locked the row"),
}

// releases is a request that frees locks, and what it was answered.
type releases struct {
	names, ids, as []string
	until          []int64

	released, looked, heard []bool
	micros                  int64 // of the server's clock, after the transaction; 0: it is not known
	timeline                string
}

func (r *releases) add(l *Lock, id string) {
	r.names, r.ids = append(r.names, l.name), append(r.ids, id)
	r.until, r.as = append(r.until, l.until), append(r.as, l.as)
}

// release sends it. Nobody relies on a release but those who wait for it: if a crash of the server forgets it, the hold
// ends with its lease. So its commit waits for no disk.
func (s *Store) release(ctx context.Context, r *releases, sql string) error {
	sent := s.host.Clock.Now()
	err := s.send(ctx, s.conns.traffic, request{
		name: "release", calls: len(r.names),
		within: func(b *pgx.Batch) {
			b.Queue(sql, r.names, r.ids, r.until, r.as).Query(func(rows pgx.Rows) error {
				for rows.Next() {
					var released, looked, heard bool
					if err := rows.Scan(&released, &looked, &heard); err != nil {
						return err
					}
					r.released, r.looked, r.heard = append(r.released, released), append(r.looked, looked),
						append(r.heard, heard)
				}
				return rows.Err()
			})
		},
		after: func(b *pgx.Batch) {
			b.Queue(s.sql.notify, s.table.channel(), r.names, s.host.Client).QueryRow(func(row pgx.Row) error {
				var off *string
				var told int64
				return row.Scan(&r.micros, &r.timeline, &off, &told)
			})
		},
	})
	if err == nil && r.micros > 0 {
		s.observe(sent, r.micros, r.timeline)
	}
	return err
}

func (r *releases) reply(i int) store.ReleaseReply {
	reply := store.ReleaseReply{Status: store.Gone}
	if r.released[i] {
		reply.Status = store.Done
		if r.heard[i] {
			reply.Receivers = 1
		}
	}
	return reply
}

// Release implements [store.Protocol].
func (l *Lock) Release(ctx context.Context, id string) (store.ReleaseReply, error) {
	var r releases
	r.add(l, id)
	if err := l.store.release(ctx, &r, l.store.sql.release); err != nil {
		return store.ReleaseReply{}, err
	}
	return r.reply(0), nil
}

// ReleaseAll implements [store.Store].
func (s *Store) ReleaseAll(ctx context.Context, all []*store.Parting) error {
	return s.releaseAll(ctx, all, s.sql.release)
}

// ReleaseEach implements [store.Store]. Rows that are locked are left for the next time: one must not hold up the
// others.
func (s *Store) ReleaseEach(ctx context.Context, all []*store.Parting) {
	err := s.releaseAll(ctx, all, s.sql.releaseMany)
	for _, one := range all {
		if err != nil {
			one.Err = err
		}
	}
}

func (s *Store) releaseAll(ctx context.Context, all []*store.Parting, sql string) error {
	var r releases
	for _, one := range all {
		r.add(one.Proto.(*Lock), one.ID)
	}
	if err := s.release(ctx, &r, sql); err != nil {
		return err
	}
	for i, one := range all {
		one.Reply, one.Err, one.Again = r.reply(i), nil, 0
		switch {
		case !r.looked[i]:
			one.Err = errLocked
		case one.Late > 0: // without the clock, that of the last answer is as good as late
			one.Again = serverclock.Again(one.Late, r.micros)
		}
	}
	return nil
}
