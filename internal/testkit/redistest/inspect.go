package redistest

import (
	"context"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/keys"
)

const inspectLimit = 10 * time.Second

// ask runs one of the helpers' own commands on a connection that it closes, so that it leaves no trace in CLIENT
// LIST.
func ask[T any](
	t testing.TB, s *Server, command func(context.Context, *redis.Client) (T, error),
) T {
	t.Helper()
	rdb := s.admin()
	defer func() { _ = rdb.Close() }()
	ctx, cancel := context.WithTimeout(context.Background(), inspectLimit)
	defer cancel()
	result, err := command(ctx, rdb)
	for ctx.Err() == nil && (errors.Is(err, io.EOF) || errors.Is(err, syscall.ECONNRESET)) {
		result, err = command(ctx, rdb) // a server that becomes a replica ends its connections
	}
	if err != nil {
		t.Fatalf("redistest: %s: %v", s.Addr(), err)
	}
	return result
}

// FlushAll removes every key.
func (s *Server) FlushAll(t testing.TB) {
	t.Helper()
	ask(t, s, func(ctx context.Context, rdb *redis.Client) (string, error) {
		return rdb.FlushAll(ctx).Result()
	})
}

// Keys returns the names of all keys, in no order.
func (s *Server) Keys(t testing.TB) []string {
	t.Helper()
	return ask(t, s, func(ctx context.Context, rdb *redis.Client) ([]string, error) {
		var names []string
		seen := make(map[string]bool) // SCAN may return a key more than once
		scan := rdb.Scan(ctx, 0, "*", 1000).Iterator()
		for scan.Next(ctx) {
			if name := scan.Val(); !seen[name] {
				seen[name] = true
				names = append(names, name)
			}
		}
		return names, scan.Err()
	})
}

// Calls returns how often command was executed since the server's start, including calls from scripts. A subcommand
// is written as "client|list".
func (s *Server) Calls(t testing.TB, command string) int64 {
	t.Helper()
	fields := s.Info(t, "commandstats")
	var calls int64
	if line, ok := fields["cmdstat_"+strings.ToLower(command)]; ok {
		if _, err := fmt.Sscanf(line, "calls=%d,", &calls); err != nil {
			t.Fatalf("redistest: %s: %q: %v", s.Addr(), line, err)
		}
	}
	return calls
}

// PubSubChannels returns the channels that have subscribers, the sharded ones included. A client that has had a lock
// for a while listens on a channel of its own until it is closed; those are left out: see Listeners.
func (s *Server) PubSubChannels(t testing.TB) []string {
	t.Helper()
	major, _ := s.Version()
	return ask(t, s, func(ctx context.Context, rdb *redis.Client) ([]string, error) {
		channels, err := rdb.PubSubChannels(ctx, "*").Result()
		own := func(c string) bool { return strings.HasPrefix(c, keys.Wanted("")) }
		channels = slices.DeleteFunc(channels, own)
		if err != nil || major < 7 {
			return channels, err
		}
		sharded, err := rdb.PubSubShardChannels(ctx, "*").Result()
		return append(channels, sharded...), err
	})
}

// Listeners returns how many clients listen on a channel of their own, on which they hear of breaks.
func (s *Server) Listeners(t testing.TB) int {
	t.Helper()
	return len(ask(t, s, func(ctx context.Context, rdb *redis.Client) ([]string, error) {
		return rdb.PubSubChannels(ctx, keys.Wanted("*")).Result()
	}))
}

// Info returns the fields of a section of INFO.
func (s *Server) Info(t testing.TB, section string) map[string]string {
	t.Helper()
	return parseInfo(ask(t, s, func(ctx context.Context, rdb *redis.Client) (string, error) {
		return rdb.Info(ctx, section).Result()
	}))
}

func parseInfo(text string) map[string]string {
	fields := make(map[string]string)
	for line := range strings.Lines(text) {
		if name, value, ok := strings.Cut(strings.TrimSpace(line), ":"); ok {
			fields[name] = value
		}
	}
	return fields
}
