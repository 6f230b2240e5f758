package fence

import (
	"context"
	"database/sql"
	"errors"
	"fmt"
	"regexp"
)

// Dialect is what a database calls things.
type Dialect int

// The dialects. MariaDB's is MySQL, and CockroachDB's PostgreSQL.
const (
	PostgreSQL Dialect = iota + 1
	MySQL
	SQLite
)

// SQL guards names in a database. It is safe for concurrent use.
type SQL struct {
	dialect              Dialect
	schema, raise, newer string
}

var identifier = regexp.MustCompile(`^[A-Za-z_][A-Za-z0-9_]*(\.[A-Za-z_][A-Za-z0-9_]*)?$`)

// NewSQL returns a guard that keeps its tokens in a table, which may be named with its schema.
func NewSQL(dialect Dialect, table string) (*SQL, error) {
	if !identifier.MatchString(table) {
		return nil, fmt.Errorf("holdfast: %q is no name of a table", table)
	}
	g := &SQL{dialect: dialect}
	text := "VARCHAR(255)"
	switch dialect {
	case PostgreSQL:
		g.raise = "INSERT INTO " + table + " AS guard (name, token) VALUES ($1, $2) ON CONFLICT (name) " +
			"DO UPDATE SET token = excluded.token WHERE guard.token <= excluded.token"
		g.newer = "SELECT token FROM " + table + " WHERE name = $1"
	case SQLite:
		g.raise = "INSERT INTO " + table + " AS guard (name, token) VALUES (?, ?) ON CONFLICT (name) " +
			"DO UPDATE SET token = excluded.token WHERE guard.token <= excluded.token"
		g.newer = "SELECT token FROM " + table + " WHERE name = ?"
	case MySQL:
		// Names are compared byte by byte.
		text = "VARBINARY(255)"
		g.raise = "INSERT INTO " + table + " (name, token) VALUES (?, ?) " +
			"ON DUPLICATE KEY UPDATE token = GREATEST(token, VALUES(token))"
		g.newer = "SELECT token FROM " + table + " WHERE name = ? FOR UPDATE"
	default:
		return nil, fmt.Errorf("holdfast: there is no dialect %d", dialect)
	}
	g.schema = "CREATE TABLE IF NOT EXISTS " + table + " (name " + text +
		" NOT NULL PRIMARY KEY, token BIGINT NOT NULL)"
	return g, nil
}

// Schema is the statement that creates the table if it is not there.
func (g *SQL) Schema() string {
	if g == nil {
		return ""
	}
	return g.schema
}

// made refuses a guard that NewSQL did not make.
func (g *SQL) made() error {
	if g == nil || g.raise == "" {
		return errors.New("holdfast: the guard must come from NewSQL; its zero value is none")
	}
	return nil
}

// Check raises the newest token of a name to the given one, and locks its row until tx ends. If a newer one was seen
// the error is a *StaleError; then roll tx back. Call it before anything else in tx. In a transaction that checks
// several names, check them in one order everywhere, or the database may find a deadlock.
func (g *SQL) Check(ctx context.Context, tx *sql.Tx, name string, token int64) error {
	if err := errors.Join(g.made(), checkToken(token), checkName(name)); err != nil {
		return err
	}
	switch {
	case ctx == nil:
		return errors.New("holdfast: ctx must not be nil")
	case tx == nil:
		return errors.New("holdfast: tx must not be nil")
	}
	done, err := tx.ExecContext(ctx, g.raise, name, token)
	if err != nil {
		return fmt.Errorf("holdfast: fence: %w", err)
	}
	if g.dialect != MySQL { // which counts differently, by a setting of the driver
		n, err := done.RowsAffected()
		if err != nil {
			return fmt.Errorf("holdfast: fence: %w", err)
		}
		if n > 0 {
			return nil
		}
	}
	var newest int64
	if err := tx.QueryRowContext(ctx, g.newer, name).Scan(&newest); err != nil {
		return fmt.Errorf("holdfast: fence: %w", err)
	}
	if newest > token {
		return &StaleError{Name: name, Token: token, Newest: newest}
	}
	if g.dialect != MySQL { // it was not written, and the row that was in the way is not to be seen
		return &StaleError{Name: name, Token: token}
	}
	return nil
}

// Tx runs fn in a transaction that is committed if fn returns nil and no newer token was seen, and rolled back
// otherwise, or if fn panics. A stale token is found out before fn is called.
func (g *SQL) Tx(
	ctx context.Context, db interface {
		BeginTx(ctx context.Context, opts *sql.TxOptions) (*sql.Tx, error)
	}, name string, token int64, fn func(tx *sql.Tx) error,
) (err error) {
	if err := errors.Join(g.made(), checkToken(token), checkName(name)); err != nil {
		return err
	}
	switch {
	case ctx == nil:
		return errors.New("holdfast: ctx must not be nil")
	case db == nil:
		return errors.New("holdfast: db must not be nil")
	case fn == nil:
		return errors.New("holdfast: fn must not be nil")
	}
	tx, err := db.BeginTx(ctx, nil)
	if err != nil {
		return fmt.Errorf("holdfast: fence: %w", err)
	}
	defer func() {
		if back := tx.Rollback(); back != nil && !errors.Is(back, sql.ErrTxDone) {
			err = errors.Join(err, fmt.Errorf("holdfast: fence: %w", back))
		}
	}()
	if err := g.Check(ctx, tx, name, token); err != nil {
		return err
	}
	if err := fn(tx); err != nil {
		return err
	}
	if err := tx.Commit(); err != nil {
		return fmt.Errorf("holdfast: fence: %w", err)
	}
	return nil
}
