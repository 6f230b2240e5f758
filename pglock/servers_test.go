package pglock

import (
	"testing"

	"github.com/jackc/pgx/v5"
	"github.com/stretchr/testify/assert"
	"github.com/stretchr/testify/require"
)

// Errors and the log name each server that a pool may dial (defect G35).
func TestTheServersOfAPoolAreNamed(t *testing.T) {
	for from, want := range map[string]string{
		"postgres://db:5432/app":                       "db:5432",
		"postgres://a:1,b:2/app?sslmode=prefer":        "a:1,b:2",
		"postgres://a:1,[::1]:2/app?sslmode=disable":   "a:1,[::1]:2",
		"host=/run/postgresql port=5433 dbname=app":    "/run/postgresql:5433",
		"postgres://user:secret@db/app?sslmode=prefer": "db:5432",
	} {
		config, err := pgx.ParseConfig(from)
		require.NoError(t, err)
		assert.Equal(t, want, servers(config), from)
	}
}
