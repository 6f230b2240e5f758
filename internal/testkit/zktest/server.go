package zktest

import (
	"crypto/tls"
	"errors"
	"fmt"
	"net"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testkit/servers"
)

// patience bounds what must happen. Nothing is measured against it.
const patience = 2 * time.Minute

// Options say what is unusual about a server. The zero Options are those of most tests.
type Options struct {
	// Version of the server, for instance [Oldest]; "": that in scripts/zookeeper/pom.xml.
	Version string
	// Tick is the server's unit of time, in which it counts the ends of sessions: half of the shortest session that it
	// grants. 0: half a second. The longest session is two minutes all the same.
	Tick time.Duration
	// Config are lines of the configuration. They come last, and the last of several counts: "maxClientCnxns=3".
	Config []string
	// JVM are options of the Java runtime, for instance "-Djute.maxbuffer=4096", and
	// "-Dznode.container.checkIntervalMs=500", how often it looks for containers that are empty.
	JVM []string
	// TLS has the server listen at a second address, [Server.SecureAddr], too.
	TLS bool
	// Clock has the server run by a wall clock of its own, which [Server.Ahead] sets: see [servers.NeedClock].
	Clock bool
}

// Server is a ZooKeeper that belongs to a test: the only one, or a member of an [Ensemble].
type Server struct {
	owned   servers.Owned
	opts    Options
	id      int            // of a member: 1 and up; 0: it is alone
	ports   []servers.Port // for clients; for clients with TLS; of a member for the others, and for elections
	dir     string         // with the data, the configuration and the log
	process *servers.Process
	keys    *keys          // nil: without TLS
	clock   *servers.Clock // nil: it has the machine's
}

// The ports of a server.
const (
	clients = iota
	secure
	quorum
	election
	portCount
)

// Start starts a server of its own for a test, waits until it serves, and kills it when the test ends.
func Start(t testing.TB, opts Options) *Server {
	t.Helper()
	s, err := launch(opts)
	if err != nil {
		t.Fatalf("zktest: %v", err)
	}
	s.belongsTo(t)
	return s
}

func (s *Server) belongsTo(t testing.TB) {
	s.owned.BelongTo(t)
	t.Cleanup(func() {
		if t.Failed() {
			t.Logf("ZooKeeper %d on %s said: %s", s.id, s.Addr(), s.process.Output())
		}
		if err := s.close(); err != nil {
			t.Errorf("zktest: %v", err)
		}
	})
}

// launch starts an empty server that is alone.
func launch(opts Options) (*Server, error) {
	s, err := prepare(0, opts)
	if err != nil {
		return nil, err
	}
	if err := errors.Join(s.configure(nil), s.boot()); err != nil {
		return nil, errors.Join(err, s.close())
	}
	return s, nil
}

// prepare makes a server that has no configuration and no data yet.
func prepare(id int, opts Options) (*Server, error) {
	folder, err := jars(opts.Version)
	if err != nil {
		return nil, err
	}
	program, err := java()
	if err != nil {
		return nil, err
	}
	s := &Server{owned: servers.Owned{Kit: "zktest"}, opts: opts, id: id}
	if s.dir, err = os.MkdirTemp("", "zktest-"); err != nil {
		return nil, err
	}
	if opts.Clock {
		if s.clock, program, err = servers.NewClock(s.dir, program); err != nil {
			return nil, errors.Join(err, s.close())
		}
	}
	for range portCount {
		port, err := servers.ClaimPort(0)
		if err != nil {
			return nil, errors.Join(err, s.close())
		}
		s.ports = append(s.ports, port)
	}
	if opts.TLS {
		if s.keys, err = newKeys(s.dir); err != nil {
			return nil, errors.Join(err, s.close())
		}
	}
	s.process = &servers.Process{
		Path: program, Args: s.arguments(folder), Log: filepath.Join(s.dir, "log"),
	}
	return s, nil
}

// arguments are those of the Java runtime, which is to start soon and to need little: several run at a time.
func (s *Server) arguments(jars string) []string {
	// The server's folder comes first on the class path: its logback.xml counts if the user's jars log by that.
	return slices.Concat([]string{
		"-Xmx128m", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-XX:-UsePerfData",
		"-cp", s.dir + string(os.PathListSeparator) + filepath.Join(jars, "*"),
		"-Dorg.slf4j.simpleLogger.showDateTime=true", "-Dorg.slf4j.simpleLogger.dateTimeFormat=HH:mm:ss.SSS",
		"-Dzookeeper.forceSync=no", "-Dzookeeper.preAllocSize=1024", "-Dzookeeper.admin.enableServer=false",
		"-Dzookeeper.fastleader.maxNotificationInterval=1000",
	}, s.opts.JVM, []string{"org.apache.zookeeper.server.quorum.QuorumPeerMain", s.config()})
}

func (s *Server) config() string { return filepath.Join(s.dir, "zoo.cfg") }

func (s *Server) data() string { return filepath.Join(s.dir, "data", "version-2") }

// logback has servers that log by it say as much as those from Maven, which log by slf4j-simple.
const logback = `<configuration><appender name="out" class="ch.qos.logback.core.ConsoleAppender"><encoder>
<pattern>%d{HH:mm:ss.SSS} [%thread] %level %logger - %msg%n</pattern></encoder></appender>
<root level="INFO"><appender-ref ref="out"/></root></configuration>
`

// configure writes the configuration of a server, with lines that say who the members are.
func (s *Server) configure(members []string) error {
	tick := s.opts.Tick
	if tick == 0 {
		tick = 500 * time.Millisecond
	}
	lines := []string{
		fmt.Sprintf("tickTime=%d", tick.Milliseconds()), "initLimit=20", "syncLimit=10", "maxSessionTimeout=120000",
		"maxClientCnxns=0", "4lw.commands.whitelist=srvr,mntr,ruok", "dataDir=" + filepath.Join(s.dir, "data"),
		fmt.Sprintf("clientPort=%d", s.ports[clients].Number), "clientPortAddress=127.0.0.1",
	}
	if s.keys != nil {
		lines = append(lines, s.keys.lines(s.ports[secure])...)
	}
	lines = slices.Concat(lines, members, s.opts.Config, []string{""})
	files := map[string]string{
		s.config():                           strings.Join(lines, "\n"),
		filepath.Join(s.dir, "logback.xml"):  logback,
		filepath.Join(s.dir, "data", "myid"): fmt.Sprintln(s.id),
	}
	err := os.MkdirAll(s.data(), 0o700)
	for name, text := range files {
		err = errors.Join(err, os.WriteFile(name, []byte(text), 0o600))
	}
	return err
}

// boot starts the program and waits until it serves.
func (s *Server) boot() error {
	if err := s.process.Start(); err != nil {
		return err
	}
	return s.ready()
}

// ready waits until the server says that it serves clients: of a member, that there is a leader.
func (s *Server) ready() error {
	deadline := time.Now().Add(patience)
	for pause := servers.NewBackoff(); ; pause.Sleep() {
		late := time.Now().After(deadline)
		err := s.serves()
		switch {
		case err == nil:
			return nil
		case !s.process.Alive():
			return fmt.Errorf("the server ended while starting: %s", s.process.Output())
		case late:
			return fmt.Errorf("the server on %s does not serve within %v: %w: %s",
				s.Addr(), patience, err, s.process.Output())
		}
	}
}

// Serves waits until the server serves clients: a member that was cut off does so some time after the end of that.
func (s *Server) Serves(t testing.TB) {
	t.Helper()
	if err := s.ready(); err != nil {
		t.Fatalf("zktest: %v", err)
	}
}

// serves reports by its error why clients cannot come yet.
func (s *Server) serves() error {
	if _, err := s.mode(); err != nil || s.keys == nil {
		return err
	}
	// It listens there last, and its first handshake takes long: it loads what it needs for that.
	config := s.TLS()
	config.ServerName = "127.0.0.1"
	conn, err := tls.DialWithDialer(&net.Dialer{Timeout: patience}, "tcp", s.SecureAddr(), config)
	if err != nil {
		return err
	}
	return conn.Close()
}

func (s *Server) close() error {
	var errs []error
	if s.process != nil {
		errs = append(errs, s.process.Kill())
	}
	errs = append(errs, os.RemoveAll(s.dir))
	for _, port := range s.ports {
		errs = append(errs, port.Release())
	}
	return errors.Join(errs...)
}

// Addr returns the server's address for clients, host and port.
func (s *Server) Addr() string { return s.ports[clients].Addr() }

// SecureAddr returns its address for clients with TLS.
func (s *Server) SecureAddr() string { return s.ports[secure].Addr() }
