package pgtest

import (
	"errors"
	"fmt"
	"strconv"
	"strings"
	"testing"
)

// Standby starts a standby of the server, with the server's settings, and returns once it receives what the server
// writes. If it is synchronous, no commit on the server returns from then on until the standby has it on disk.
//
// The server keeps what the standby has not received, however long that is down.
func (s *Server) Standby(t testing.TB, synchronous bool) *Server {
	t.Helper()
	s.owned.Owner()
	name, synchronousNames := s.newStandby(synchronous)
	standby, err := prepare(s.settings)
	if err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	standby.belongsTo(t)
	// -R tells the standby whom it follows, under which name, and from which slot.
	err = standby.run("pg_basebackup", "-D", standby.data(), "-R", "-X", "stream", "-c", "fast", "--no-sync",
		"-C", "-S", name, "-d", fmt.Sprintf("host=127.0.0.1 port=%d user=postgres sslmode=disable application_name=%s",
			s.port.Number, name))
	if err = errors.Join(err, standby.boot()); err != nil {
		t.Fatalf("pgtest: %v", err)
	}
	state := "async"
	if synchronous {
		state = "sync"
		s.Run(t, fmt.Sprintf("ALTER SYSTEM SET synchronous_standby_names = 'FIRST %d (%s)'; SELECT pg_reload_conf()",
			len(synchronousNames), strings.Join(synchronousNames, ", ")))
	}
	Eventually(t, func() bool {
		return s.Run(t, "SELECT state, sync_state FROM pg_stat_replication WHERE application_name = '"+name+"'") ==
			"streaming|"+state
	}, "the standby follows")
	return standby
}

// newStandby returns a name for another standby, and those of all that are synchronous.
func (s *Server) newStandby(synchronous bool) (name string, synchronousNames []string) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.standbys++
	name = "standby_" + strconv.Itoa(s.standbys)
	if synchronous {
		s.synchronous = append(s.synchronous, name)
	}
	return name, append([]string(nil), s.synchronous...)
}

// Promote makes a standby a server that takes writes, on a timeline of its own, whether its primary lives or not. It
// returns once it takes them. It asks no question for that: recovery cancels one that is in its way, pg_promote too.
func (s *Server) Promote(t testing.TB) {
	t.Helper()
	s.owned.Owner()
	err := s.run("pg_ctl", "promote", "-D", s.data(), "-w", "-t", fmt.Sprint(int(patience.Seconds())))
	if err != nil || s.Run(t, "SELECT pg_is_in_recovery()") != "f" {
		t.Fatalf("pgtest: the standby on %s was not promoted: %v", s.Addr(), err)
	}
}
