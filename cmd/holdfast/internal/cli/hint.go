package cli

import (
	"crypto/tls"
	"errors"
	"io"
	"net"
	"strings"

	"github.com/redis/go-redis/v9"

	"github.com/holdfast-go/holdfast/internal/store"
	"github.com/holdfast-go/holdfast/rlock"
)

// hintedError is an error with what the library cannot know: which server the flags name, and what they may have wrong.
type hintedError struct {
	err  error
	hint string
}

func (h hintedError) Error() string { return h.err.Error() + h.hint }
func (h hintedError) Unwrap() error { return h.err }

// hinted adds to an error of a Redis that does not answer, or of Sentinels that refuse to.
func (c *connection) hinted(err error) error {
	switch {
	case store.Denied(err) && c.sentinel && strings.Contains(err.Error(), "Sentinel"):
		return hintedError{err, " (" + c.at + "); see --sentinel-user and HOLDFAST_SENTINEL_PASSWORD"}
	case !errors.Is(err, rlock.ErrUnavailable), store.Denied(err):
		return err
	}
	return hintedError{err, c.hint(err)}
}

// hint says where Redis is, unless the error does, and what may be wrong about TLS. A server with TLS hangs up on a
// client without, and one without waits for more than what a client with TLS sends first.
func (c *connection) hint(err error) string {
	where := ""
	if !strings.Contains(err.Error(), c.at) {
		where = " (" + c.at + ")"
	}
	var unknown *net.DNSError
	var certificate *tls.CertificateVerificationError
	switch {
	case c.sentinel && errors.Is(err, redis.Nil):
		return where + "; the Sentinels watch no primary of that name"
	case !c.secure && (errors.Is(err, io.EOF) || errors.Is(err, errReset)):
		return where + "; if the server speaks TLS, use rediss:// or --tls"
	case !c.secure, errors.Is(err, errRefused), errors.As(err, &unknown), errors.As(err, &certificate):
		return where
	}
	return where + "; if the server does not speak TLS, use redis:// without the --tls flags"
}

// cause is what lies behind an error of a call, without the call's own words.
func cause(err error) error {
	if all, ok := err.(interface{ Unwrap() []error }); ok && len(all.Unwrap()) > 1 {
		return all.Unwrap()[1]
	}
	return err
}

// place is where the flags say that Redis is, and whether the connections are to have TLS.
func (g *globals) place(rdb redis.UniversalClient) (at string, secure bool) {
	switch rdb := rdb.(type) {
	case *redis.ClusterClient:
		return strings.Join(g.cluster, ","), rdb.Options().TLSConfig != nil
	case *redis.Client:
		if at = rdb.Options().Addr; len(g.sentinel) > 0 {
			at = g.master + " of " + strings.Join(g.sentinel, ",")
		}
		return at, rdb.Options().TLSConfig != nil
	}
	return "", false
}
