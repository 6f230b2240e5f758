package history

import (
	"fmt"
	"os/exec"
	"strconv"
	"strings"
	"testing"
	"time"

	"github.com/holdfast-go/holdfast/internal/testkit/role"
)

// process is a client process as the run sees it.
type process struct {
	*role.Process
	name string
	java bool
	told chan string // its output besides its record; closed when all of it was read
}

// launch starts a client in a seat.
func launch(t testing.TB, s *seat, generation int, cfg Config, r *record) *process {
	p := &process{name: fmt.Sprintf("client-%d.%d", s.number, generation), java: s.java, told: make(chan string, 16)}
	seed := cfg.Seed + uint64(s.number)<<32 + uint64(generation)<<40
	if s.java {
		p.Process = role.Launch(t, javaClient(cfg, s.addr, seed))
	} else {
		p.Process = clients.Start(t, orders{
			Addr: s.addr, Number: s.number, Lease: cfg.Lease, Workers: workers, Site: cfg.Site,
			Forgets: cfg.Forgets, Linger: cfg.Linger, Seed: seed,
		})
	}
	go p.listen(r)
	return p
}

// javaClient is a process of HistoryClient.java: small and quickly started, not fast in the long run.
func javaClient(cfg Config, addr string, seed uint64) *exec.Cmd {
	return exec.Command("java", "-XX:TieredStopAtLevel=1", "-XX:+UseSerialGC", "-Xmx128m", "-cp", cfg.Java,
		"HistoryClient", string(cfg.Site), addr, strconv.Itoa(workers), strconv.FormatUint(seed, 10),
		strconv.FormatInt(cfg.Lease.Milliseconds(), 10))
}

func (p *process) listen(r *record) {
	defer close(p.told)
	const forever = 24 * time.Hour
	for {
		line, err := p.Next(forever)
		if err != nil {
			return
		}
		if strings.HasPrefix(line, linePaused+" ") || strings.HasPrefix(line, lineLeft+" ") {
			p.told <- line
			continue
		}
		if reading, is := strings.CutPrefix(line, lineClock+" "); is {
			r.compare(p, parse(reading).stamp())
			continue
		}
		if exported, is := strings.CutPrefix(line, lineExport+" "); is {
			r.export(p, exported)
			continue
		}
		r.take(p, line)
	}
}

func (p *process) say(order string) error {
	if err := p.Send(order); err != nil {
		return fmt.Errorf("%s: %w", p.name, err)
	}
	return nil
}

// hear returns the next output of the process, besides its record.
func (p *process) hear(limit time.Duration) (string, error) {
	select {
	case line, ok := <-p.told:
		if !ok {
			return "", fmt.Errorf("%s ended by itself", p.name)
		}
		return line, nil
	case <-time.After(limit):
		if !p.java { // which would print its threads where its record is read
			p.Abort(settle)
		}
		return "", fmt.Errorf("%s says nothing within %v: a call is stuck (see its stacks)", p.name, limit)
	}
}

// kill ends the process with SIGKILL, and returns when all its output was taken.
func (p *process) kill() {
	p.Kill()
	for range p.told {
	}
}
