package zkstore

import (
	"context"
	"fmt"
	"strconv"
	"strings"
)

// Server is what a server says of itself.
type Server struct {
	Version string // "": it does not say
	Mode    string // leader, follower, observer, standalone
	Why     string // it says nothing else than this
}

// Server asks a server about itself, by its word "srvr".
func (s *Store) Server(ctx context.Context, address string) (found Server, err error) {
	sent, cancel, err := s.begin(ctx)
	if err != nil {
		return found, err
	}
	defer cancel()
	said, err := s.cfg.Dialer.Ask(sent, address, "srvr")
	if err != nil {
		return found, meaning(err)
	}
	return serverOf(said), nil
}

func serverOf(said string) (found Server) {
	for line := range strings.Lines(said) {
		key, value, _ := strings.Cut(strings.TrimSpace(line), ": ")
		switch key {
		case "Zookeeper version":
			found.Version, _, _ = strings.Cut(value, "-")
		case "Mode":
			found.Mode = value
		}
	}
	if found.Version == "" {
		found.Why = strings.TrimSpace(said)
	}
	return found
}

// version is a version as numbers.
func version(text string) (n [3]int) {
	for i, part := range strings.SplitN(text, ".", 3) {
		n[i], _ = strconv.Atoi(part)
	}
	return n
}

// older reports that a version comes before another.
func older(v, than [3]int) bool {
	for i := range v {
		if v[i] != than[i] {
			return v[i] < than[i]
		}
	}
	return false
}

// TooOld is what is wrong with a server of a version that cannot keep locks; "": nothing is.
func TooOld(text string) string {
	if older(version(text), [3]int{3, 6, 0}) {
		return fmt.Sprintf("is ZooKeeper %s, which cannot say which nodes a session has: use 3.9.4 or newer", text)
	}
	return ""
}

// Doubtful is what is known against a version that keeps locks; "": nothing is.
func Doubtful(text string) string {
	v := version(text)
	switch {
	case !older(v, [3]int{3, 9, 4}):
		return ""
	case v == [3]int{3, 9, 3}:
		return "it may lose data as it starts (ZOOKEEPER-4925)"
	}
	return "it may lose changes when servers crash that join (ZOOKEEPER-4643, ZOOKEEPER-4646)"
}
