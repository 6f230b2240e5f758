package zkadmin

import (
	"encoding/binary"
	"fmt"
	"io"
	"net"
	"time"
)

// End ends the session of another client, with all its nodes. It attaches the session, as its client does: servers
// derive the password from the session's number. It reports false if the session had ended before. If
// the first answer is lost, this call has ended the session, which the next server does not know any more.
func (a *Admin) End(session int64) (done bool, err error) {
	asked := false
	for _, address := range a.addresses {
		var sent bool
		done, sent, err = end(address, session)
		asked = asked || sent
		if err == nil {
			return done || asked, nil
		}
	}
	return false, err
}

// The packets that attach a session and end it.
const (
	attachSize   = 45
	closeRequest = -11
	passwordSize = 16
)

// end asks one server. Sent says that the request which ends the session was written, or a part of it.
func end(address string, session int64) (done, sent bool, err error) {
	conn, err := net.DialTimeout("tcp", address, patience)
	if err != nil {
		return false, false, err
	}
	defer func() { _ = conn.Close() }()
	if err := conn.SetDeadline(time.Now().Add(patience)); err != nil {
		return false, false, err
	}
	order := binary.BigEndian
	attach := order.AppendUint32(nil, attachSize)
	attach = append(attach, make([]byte, 4+8)...) // the version of the protocol, and the latest change
	attach = order.AppendUint32(attach, uint32(patience.Milliseconds()))
	attach = order.AppendUint64(attach, uint64(session))
	attach = order.AppendUint32(attach, passwordSize)
	attach = append(attach, password(session)...)
	attach = append(attach, 0) // not for reading only
	if _, err := conn.Write(attach); err != nil {
		return false, false, err
	}
	answer, err := packet(conn)
	if err != nil {
		return false, false, err
	}
	if len(answer) < 16 {
		return false, false, fmt.Errorf("%d bytes attach no session", len(answer))
	}
	switch int64(order.Uint64(answer[8:])) {
	case session:
	case 0:
		return false, false, nil
	default:
		return false, false, fmt.Errorf("%s attached another session than %x", address, session)
	}
	request := order.AppendUint32(nil, 8)
	request = order.AppendUint32(request, 1)
	code := int32(closeRequest)
	request = order.AppendUint32(request, uint32(code))
	if _, err := conn.Write(request); err != nil {
		return false, true, err
	}
	_, err = packet(conn)
	return err == nil, true, err
}

// packet reads one, without its length.
func packet(from io.Reader) ([]byte, error) {
	var size [4]byte
	if _, err := io.ReadFull(from, size[:]); err != nil {
		return nil, err
	}
	body := make([]byte, min(binary.BigEndian.Uint32(size[:]), 1<<10))
	_, err := io.ReadFull(from, body)
	return body, err
}

// password is that of a session: what java.util.Random gives for its number and a constant of the servers.
func password(session int64) []byte {
	const secret, factor, mask = 0xB3415C00, 0x5DEECE66D, 1<<48 - 1
	state := (uint64(session) ^ secret ^ factor) & mask
	all := make([]byte, 0, passwordSize)
	for len(all) < passwordSize {
		state = (state*factor + 0xB) & mask
		all = binary.LittleEndian.AppendUint32(all, uint32(state>>16))
	}
	return all
}
