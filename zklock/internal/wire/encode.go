package wire

import "encoding/binary"

// encoder appends what ZooKeeper's serialization (Jute) has: big-endian numbers, and bytes behind their length.
type encoder []byte

func (e *encoder) int(v int32)  { *e = binary.BigEndian.AppendUint32(*e, uint32(v)) }
func (e *encoder) long(v int64) { *e = binary.BigEndian.AppendUint64(*e, uint64(v)) }

func (e *encoder) bool(v bool) {
	b := byte(0)
	if v {
		b = 1
	}
	*e = append(*e, b)
}

func (e *encoder) bytes(v []byte) {
	e.int(int32(len(v)))
	*e = append(*e, v...)
}

func (e *encoder) string(v string) {
	e.int(int32(len(v)))
	*e = append(*e, v...)
}

func (e *encoder) acls(all []ACL) {
	e.int(int32(len(all)))
	for _, one := range all {
		e.int(one.Perms)
		e.string(one.Scheme)
		e.string(one.ID)
	}
}

// packet appends a packet, which begins with its length.
func (e *encoder) packet(fill func(e *encoder)) {
	at := len(*e)
	e.int(0)
	fill(e)
	binary.BigEndian.PutUint32((*e)[at:], uint32(len(*e)-at-4))
}
