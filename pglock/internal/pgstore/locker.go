package pgstore

import (
	"time"

	"github.com/holdfast-go/holdfast/internal/store"
)

// locker is a transaction that has locked a row, as lockers.sql tells it.
type locker struct {
	PID      int64  `json:"pid"`
	Prepared string `json:"prepared"`
	Open     int64  `json:"open"` // for how many seconds
	State    string `json:"state"`
}

func (l *locker) transaction() store.Transaction {
	return store.Transaction{
		PID: l.PID, Prepared: l.Prepared, Open: time.Duration(l.Open) * time.Second, State: l.State,
	}
}

type lockers []locker

func (all lockers) transactions() (of []store.Transaction) {
	for _, one := range all {
		of = append(of, one.transaction())
	}
	return of
}
