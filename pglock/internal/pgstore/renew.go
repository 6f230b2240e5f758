package pgstore

import (
	"context"
	"time"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/watchdog"
)

// renewMost is how many holds one statement renews.
const renewMost = 1000

// Renew implements [store.Store].
func (s *Store) Renew(ctx context.Context, all []store.Renewal) {
	for len(all) > 0 {
		n := min(len(all), renewMost)
		s.renew(ctx, all[:n])
		all = all[n:]
	}
}

func (s *Store) renew(ctx context.Context, all []store.Renewal) {
	names, ids, leases := make([]string, len(all)), make([]string, len(all)), make([]int64, len(all))
	for i, one := range all {
		names[i], ids[i], leases[i] = one.Proto.Key(), one.ID, one.TTL.Milliseconds()
	}
	var renewed, holds []bool
	var micros int64
	var timeline string
	longest := time.Duration(0)
	for _, one := range all {
		longest = max(longest, one.TTL)
	}
	sent, trusted := s.host.Clock.Now(), s.trusts(longest)
	err := s.send(ctx, s.conns.renewal, request{
		name: "renew", calls: len(all), relied: true,
		within: func(b *pgx.Batch) {
			b.Queue(s.place().sql.renew, names, ids, leases, trusted).Query(func(rows pgx.Rows) error {
				for rows.Next() {
					var done, stands bool
					if err := rows.Scan(&done, &stands, &micros, &timeline); err != nil {
						return err
					}
					renewed, holds = append(renewed, done), append(holds, stands)
				}
				return rows.Err()
			})
		},
	})
	switch {
	case err != nil:
	case len(renewed) != len(all):
		err = errRows
	default:
		s.observe(sent, micros, timeline)
	}
	for i := range all {
		one := &all[i]
		switch {
		case err != nil:
			one.Err = err
		case renewed[i]:
			one.Err = nil
		case holds[i]:
			one.Err = errLocked
		default:
			one.Err = watchdog.ErrGone
		}
	}
}
