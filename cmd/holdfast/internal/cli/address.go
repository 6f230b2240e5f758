package cli

import (
	"fmt"
	"maps"
	"net"
	"net/netip"
	"net/url"
	"os"
	"regexp"
	"slices"
	"strings"

	"github.com/redis/go-redis/v9"
)

// hostPort is a server without a scheme. It has a port, so it is no password that was meant for another flag.
var hostPort = regexp.MustCompile(`^([A-Za-z0-9.-]+|\[[0-9a-fA-F:.]+\]):[0-9]+$`)

// parse reads the URL of the server.
func (g *globals) parse() (*redis.Options, error) {
	from, at := "--redis", g.url
	if at == "" {
		from, at = "REDIS_URL", os.Getenv("REDIS_URL")
	}
	if at == "" {
		from, at = "the default", "redis://localhost:6379"
	}
	if hostPort.MatchString(at) {
		at = "redis://" + at
	}
	one, err := redis.ParseURL(at)
	if err == nil && whole(at) {
		return one, nil
	}
	if wrong := misread(at); wrong != "" {
		return nil, fmt.Errorf("%s %s", from, wrong)
	}
	// The text of err quotes the URL, or the part of a password that was taken for something else.
	return nil, fmt.Errorf("%s is no URL of a Redis, redis://user:password@host:port/db: "+
		"special characters of a user or password are written %%XX, as %%23 for #, %%25 for %% or %%2F for /", from)
}

// whole reports that nothing of a URL is ignored. Of redis://:12#34@host go-redis would take port 12 of this host, and
// of unix://:12/34@/socket the path, and errors would tell them.
func whole(at string) bool {
	u, err := url.Parse(at)
	return err == nil && u.Opaque == "" && u.Fragment == "" && (u.Scheme != "unix" || u.Host == "")
}

// foreign are parameters of URLs for other drivers: what is to be done instead. Only these are named in an error, since
// the end of a password may look like a parameter.
var foreign = map[string]string{
	"ssl":                    "write rediss:// for TLS",
	"tls":                    "write rediss:// for TLS",
	"ssl_cert_reqs":          "write rediss://, and give --tls-insecure in place of none",
	"ssl_check_hostname":     "give --tls-insecure, or --tls-server-name",
	"ssl_ca_certs":           "give --tls-ca",
	"ssl_certfile":           "give --tls-cert",
	"ssl_keyfile":            "give --tls-key",
	"socket_timeout":         "leave it out",
	"socket_connect_timeout": "leave it out",
	"socket_keepalive":       "leave it out",
	"health_check_interval":  "leave it out",
	"retry_on_timeout":       "leave it out",
	"decode_responses":       "leave it out",
	"encoding":               "leave it out",
	"max_connections":        "write pool_size",
	"connect_timeout":        "leave it out",
	"timeout":                "leave it out",
	"virtual_host":           "write the number of the database as the path",
	"family":                 "leave it out",
	"abortConnect":           "leave it out",
}

// misread says what is wrong with the text of a server, if it is something else than a password with special
// characters.
func misread(at string) string {
	if bare(at) {
		return "names an IPv6 address, which stands in brackets before its port, as [::1]:6379"
	}
	u, err := url.Parse(at)
	if err != nil {
		return ""
	}
	for _, name := range slices.Sorted(maps.Keys(u.Query())) {
		if instead, is := foreign[name]; is {
			return fmt.Sprintf("has the parameter %s of another driver: %s", name, instead)
		}
	}
	return ""
}

// bare reports that an address is an IPv6 address without brackets, alone or before a port.
func bare(address string) bool {
	for _, host := range []string{address, address[:max(strings.LastIndexByte(address, ':'), 0)]} {
		if ip, err := netip.ParseAddr(host); err == nil && ip.Is6() {
			return true
		}
	}
	return false
}

// addresses refuses what is no host:port. It is not told: it may be a URL with a password.
func addresses(flag string, all []string) error {
	for _, at := range all {
		if host, port, err := net.SplitHostPort(at); err != nil || host == "" || port == "" {
			return usageError{fmt.Errorf("--%s must be addresses as host:port, or [::1]:6379 of IPv6, with commas "+
				"between", flag)}
		}
	}
	return nil
}
