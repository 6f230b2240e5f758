package zktest

import (
	"bytes"
	"encoding/binary"
	"fmt"
	"hash/adler32"
	"os"
	"path/filepath"
	"testing"
)

// Count has a server, which is alone, go on as if so much had been made below a node already: that is the number of the
// next sequential node there. It edits the snapshot that the server writes when it starts.
func (s *Server) Count(t testing.TB, node string, made int32) {
	t.Helper()
	s.Kill()
	s.Restart()
	s.Kill()
	if err := s.recount(node, made); err != nil {
		t.Fatalf("zktest: %v", err)
	}
	s.Restart()
}

func (s *Server) recount(node string, made int32) error {
	all, err := filepath.Glob(filepath.Join(s.data(), "snapshot.*"))
	if err != nil {
		return err
	}
	var newest string
	for _, name := range all { // their names end with the number of the latest change
		if len(name) > len(newest) || len(name) == len(newest) && name > newest {
			newest = name
		}
	}
	old, err := os.ReadFile(newest)
	if err != nil {
		return err
	}
	edited, err := recounted(old, node, made)
	if err != nil {
		return fmt.Errorf("%s: %w", newest, err)
	}
	return os.WriteFile(newest, edited, 0o600)
}

// recounted is a snapshot with another count of a node's children. A node is its path, its data, each behind a length,
// the number of its ACL, and its state, in which the count stands behind four times eight bytes and the version of the
// data.
func recounted(snapshot []byte, node string, made int32) ([]byte, error) {
	order := binary.BigEndian
	key := append(order.AppendUint32(nil, uint32(len(node))), node...)
	if n := bytes.Count(snapshot, key); n != 1 {
		return nil, fmt.Errorf("%q stands there %d times", node, n)
	}
	data := bytes.Index(snapshot, key) + len(key)
	count := data + 4 + max(0, int(int32(order.Uint32(snapshot[data:])))) + 8 + 4*8 + 4
	edited := bytes.Clone(snapshot)
	order.PutUint32(edited[count:], uint32(made))
	// A seal is the checksum of all before it, and "/". There are several: newer servers append what older ones skip.
	seals := 0
	for at := count; at+13 <= len(snapshot); at++ {
		if string(snapshot[at+8:at+13]) == "\x00\x00\x00\x01/" &&
			order.Uint64(snapshot[at:]) == uint64(adler32.Checksum(snapshot[:at])) {
			order.PutUint64(edited[at:], uint64(adler32.Checksum(edited[:at])))
			seals++
		}
	}
	if seals == 0 {
		return nil, fmt.Errorf("no checksum of it is known")
	}
	return edited, nil
}
