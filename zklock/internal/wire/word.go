package wire

import (
	"context"
	"fmt"
	"io"
)

const maxWord = 64 << 10

// Ask asks a server one of its short commands, such as "srvr", by a connection of its own.
func (d *Dialer) Ask(ctx context.Context, address, word string) (string, error) {
	raw, err := d.dial(ctx, address)
	if err != nil {
		return "", err
	}
	defer func() { _ = raw.Close() }()
	defer context.AfterFunc(ctx, func() { _ = raw.Close() })()
	c := &Conn{Address: address, dialer: d, raw: raw, stream: raw}
	if err := c.secure(ctx); err != nil {
		return "", err
	}
	if _, err := io.WriteString(c.stream, word); err != nil {
		return "", err
	}
	said, err := io.ReadAll(io.LimitReader(c.stream, maxWord))
	if ctx.Err() != nil {
		return "", fmt.Errorf("no answer from %s: %w", address, context.Cause(ctx))
	}
	if len(said) > 0 { // a server may end the connection of TLS without a farewell
		return string(said), nil
	}
	return "", err
}
