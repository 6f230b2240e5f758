package pgtest

import (
	"bytes"
	"fmt"
	"os"
	"path/filepath"
	"testing"
)

// idsPerSegment is how many transactions' states a file of pg_xact has, two bits for each.
const (
	idsPerSegment = 1 << 20
	segmentBytes  = idsPerSegment / 4
)

// Age restarts the server with a next transaction id that is so far ahead of the oldest one as an administrator sees it
// who forgot a replication slot for months. From 2,107,483,648 on the server warns with each transaction that writes.
// It must have been started with wal_level=logical.
func (s *Server) Age(t testing.TB, id int64) {
	t.Helper()
	s.owned.Owner()
	s.Run(t, "SELECT pg_create_logical_replication_slot('forgotten', 'pgoutput')") // nothing is frozen meanwhile
	s.Shutdown()
	segment := filepath.Join(s.data(), "pg_xact", fmt.Sprintf("%04X", id/idsPerSegment))
	err := os.WriteFile(segment, bytes.Repeat([]byte{0}, segmentBytes), 0o600)
	if err == nil && s.as != nil {
		err = os.Chown(segment, int(s.as.Uid), int(s.as.Gid))
	}
	if err == nil {
		err = s.run("pg_resetwal", "-f", "-x", fmt.Sprint(id), "-D", s.data())
	}
	if err != nil {
		t.Fatalf("pgtest: the ids of the server on %s were not aged: %v", s.Addr(), err)
	}
	s.Restart()
}
