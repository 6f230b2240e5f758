package wire

import (
	"bufio"
	"bytes"
	"encoding/binary"
	"errors"
	"fmt"
	"io"
)

// ErrNonsense is matched by the error of an answer that is none of the protocol. Nothing is known of its request.
var ErrNonsense = errors.New("the answer is not one of ZooKeeper's protocol")

const (
	// maxPacket bounds a packet: the names of half a million children. A server sends what it was asked for, whatever
	// its jute.maxbuffer says of requests.
	maxPacket = 64 << 20
	// outright is how much is allocated because a length says so.
	outright = 64 << 10
)

// readPacket reads a packet without its length.
func readPacket(r *bufio.Reader) ([]byte, error) {
	var length [4]byte
	if _, err := io.ReadFull(r, length[:]); err != nil {
		return nil, err
	}
	n := binary.BigEndian.Uint32(length[:])
	if n > maxPacket {
		return nil, fmt.Errorf("%w: a packet of %d bytes", ErrNonsense, n)
	}
	if n <= outright {
		body := make([]byte, n)
		_, err := io.ReadFull(r, body)
		return body, err
	}
	var body bytes.Buffer
	_, err := io.CopyN(&body, r, int64(n))
	return body.Bytes(), err
}

// decoder takes values off the front of what is left. When that is too short or a length is none, it is bad from then
// on, and all values are zero.
type decoder struct {
	left []byte
	bad  bool
}

func (d *decoder) take(n int) []byte {
	if d.bad || n < 0 || n > len(d.left) {
		d.bad = true
		return nil
	}
	taken := d.left[:n]
	d.left = d.left[n:]
	return taken
}

func (d *decoder) int() int32 {
	if b := d.take(4); b != nil {
		return int32(binary.BigEndian.Uint32(b))
	}
	return 0
}

func (d *decoder) long() int64 {
	if b := d.take(8); b != nil {
		return int64(binary.BigEndian.Uint64(b))
	}
	return 0
}

func (d *decoder) bool() bool {
	b := d.take(1)
	return b != nil && b[0] != 0
}

// bytes takes bytes behind their length; -1 stands for none.
func (d *decoder) bytes() []byte {
	n := d.int()
	if n == -1 {
		return nil
	}
	return bytes.Clone(d.take(int(n)))
}

func (d *decoder) string() string {
	n := d.int()
	if n == -1 {
		return ""
	}
	return string(d.take(int(n)))
}

// strings takes a list. Each element has a length, so there cannot be more than a quarter of the bytes that are left.
func (d *decoder) strings() []string {
	n := int(d.int())
	if n == -1 || d.bad {
		return nil
	}
	if n < 0 || n > len(d.left)/4 {
		d.bad = true
		return nil
	}
	all := make([]string, 0, n)
	for range n {
		all = append(all, d.string())
	}
	return all
}

// end is the error of what was decoded: nil if all was there, and nothing else.
func (d *decoder) end(what string) error {
	if d.bad || len(d.left) > 0 {
		return fmt.Errorf("%w: %s", ErrNonsense, what)
	}
	return nil
}
