package pgstore

import (
	"context"
	"errors"
	"slices"

	"github.com/jackc/pgx/v5"

	"github.com/holdfast-go/holdfast/internal/store"
)

// ErrUnseen is the error of a transaction that does not see a hold which stands.
var ErrUnseen = errors.New("the hold stands, and the transaction does not see it")

// Stands reports, in a transaction of the user, whether the lock has that id. If so, nobody takes it before the
// transaction is over.
//
// That the transaction does not see the id proves nothing yet: it may be of another database, or have a snapshot from
// before the hold. So the store is asked, on a connection of its own. If it says that the hold stands, the error is
// [ErrUnseen].
func (l *Lock) Stands(ctx context.Context, tx pgx.Tx, id string) (bool, error) {
	var one int
	err := tx.QueryRow(ctx, l.store.place().sql.tx, pgx.QueryExecModeExec, l.name, id).Scan(&one)
	if !errors.Is(err, pgx.ErrNoRows) {
		return err == nil, err
	}
	now, err := l.Inspect(l.store.Within(ctx, l.store.host.Limit))
	if err == nil && slices.ContainsFunc(now.Holders, func(h store.Holder) bool { return h.ID == id }) {
		err = ErrUnseen
	}
	return false, err
}
