package redisd

import (
	"bufio"
	"context"
	"fmt"
	"strconv"
	"strings"
	"time"
)

// Counts is what a server has done since it was started.
type Counts struct {
	Calls map[string]int64 // by command; those inside scripts count under their own names
	CPU   time.Duration    // of the thread that serves all commands
}

// Counts asks the server. The asking itself is left out of Calls.
func (s *Server) Counts(ctx context.Context) (Counts, error) {
	stats, err := s.info(ctx, "commandstats")
	if err != nil {
		return Counts{}, err
	}
	cpu, err := s.info(ctx, "cpu")
	if err != nil {
		return Counts{}, err
	}
	c := Counts{Calls: parseCalls(stats), CPU: seconds(cpu["used_cpu_user_main_thread"]) +
		seconds(cpu["used_cpu_sys_main_thread"])}
	if c.CPU == 0 { // servers before 6.2 and some Valkeys do not tell the thread's own
		c.CPU = seconds(cpu["used_cpu_user"]) + seconds(cpu["used_cpu_sys"])
	}
	return c, nil
}

// Since is what was done between an earlier reading and this one.
func (c Counts) Since(before Counts) Counts {
	d := Counts{Calls: map[string]int64{}, CPU: c.CPU - before.CPU}
	for name, n := range c.Calls {
		if n -= before.Calls[name]; n != 0 {
			d.Calls[name] = n
		}
	}
	return d
}

// Plus adds another server's counts.
func (c Counts) Plus(other Counts) Counts {
	sum := Counts{Calls: map[string]int64{}, CPU: c.CPU + other.CPU}
	for _, one := range []Counts{c, other} {
		for name, n := range one.Calls {
			sum.Calls[name] += n
		}
	}
	return sum
}

// Scripts is how many scripts were called.
func (c Counts) Scripts() int64 { return c.Calls["evalsha"] + c.Calls["eval"] }

// All is how many commands were carried out, those inside scripts included.
func (c Counts) All() int64 {
	var all int64
	for _, n := range c.Calls {
		all += n
	}
	return all
}

// Empty removes every key.
func (s *Server) Empty(ctx context.Context) error { return s.admin.FlushAll(ctx).Err() }

// Keys is how many keys there are.
func (s *Server) Keys(ctx context.Context) (int64, error) { return s.admin.DBSize(ctx).Result() }

// Version is the version of Redis that the server is, or stands for.
func (s *Server) Version(ctx context.Context) (string, error) {
	info, err := s.info(ctx, "server")
	return info["redis_version"], err
}

func (s *Server) info(ctx context.Context, section string) (map[string]string, error) {
	text, err := s.admin.Info(ctx, section).Result()
	if err != nil {
		return nil, fmt.Errorf("INFO %s: %w", section, err)
	}
	return parseInfo(text), nil
}

func parseInfo(text string) map[string]string {
	info := map[string]string{}
	lines := bufio.NewScanner(strings.NewReader(text))
	for lines.Scan() {
		if name, value, ok := strings.Cut(strings.TrimSpace(lines.Text()), ":"); ok {
			info[name] = value
		}
	}
	return info
}

// own are the commands by which this package asks; they do not count.
var own = map[string]bool{"info": true, "flushall": true, "dbsize": true}

func parseCalls(info map[string]string) map[string]int64 {
	calls := map[string]int64{}
	for name, value := range info {
		name, found := strings.CutPrefix(name, "cmdstat_")
		if !found || own[name] {
			continue
		}
		first, _, _ := strings.Cut(value, ",")
		if n, err := strconv.ParseInt(strings.TrimPrefix(first, "calls="), 10, 64); err == nil {
			calls[name] = n
		}
	}
	return calls
}

func seconds(text string) time.Duration {
	s, err := strconv.ParseFloat(text, 64)
	if err != nil {
		return 0
	}
	return time.Duration(s * float64(time.Second))
}
