package links

import (
	"net"
	"net/netip"
	"strings"

	"github.com/redis/go-redis/v9"
)

// Address is the one spelling in which addresses, host and port, are compared here. An IPv6 address has several: a
// server that redirects writes it without brackets, a dual-stack server writes an IPv4 address as one of IPv6, and the
// application's may be long. Every address is made so where it comes in: the address that is dialled, the peer of a
// connection, a primary in a cluster's map, the target of a redirection, a replica in the answer to ROLE.
func Address(addr string) string {
	at := strings.LastIndexByte(addr, ':')
	if at < 0 {
		return addr
	}
	host, port := strings.TrimSuffix(strings.TrimPrefix(addr[:at], "["), "]"), addr[at+1:]
	if ip, err := netip.ParseAddr(host); err == nil {
		return net.JoinHostPort(ip.Unmap().String(), port)
	}
	return net.JoinHostPort(strings.ToLower(host), port)
}

// Redirected returns the address that a server of a cluster redirects to. It reports ask if only this request is to go
// there, and false if the error is no redirection.
func Redirected(err error) (addr string, ask, redirected bool) {
	if addr, ask = redis.IsAskError(err); !ask {
		if addr, redirected = redis.IsMovedError(err); !redirected {
			return "", false, false
		}
	}
	return Address(addr), ask, true
}
