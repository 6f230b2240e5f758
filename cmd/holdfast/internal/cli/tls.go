package cli

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"fmt"
	"os"

	"github.com/spf13/pflag"
)

// tlsFlags are the flags about TLS.
type tlsFlags struct {
	on                    bool
	ca, cert, key, server string
	insecure              bool
}

func (t *tlsFlags) add(f *pflag.FlagSet) {
	f.BoolVar(&t.on, "tls", false, "connect with TLS, as rediss:// does; the other --tls flags imply it")
	f.StringVar(&t.ca, "tls-ca", "", "`file` with the authorities to trust, in PEM (default the system's)")
	f.StringVar(&t.cert, "tls-cert", "", "`file` with the client's certificate, in PEM; needs --tls-key")
	f.StringVar(&t.key, "tls-key", "", "`file` with the client's key, in PEM")
	f.StringVar(&t.server, "tls-server-name", "", "`name` that the server's certificate must have (default the host's)")
	f.BoolVar(&t.insecure, "tls-insecure", false, "accept any certificate, and so any server that\n"+
		"pretends to be yours")
}

// over returns the configuration that the flags ask for on top of the URL's, nil for none.
func (t *tlsFlags) over(config *tls.Config) (*tls.Config, error) {
	asked := t.on || t.ca != "" || t.cert != "" || t.key != "" || t.server != "" || t.insecure
	if !asked {
		return config, nil
	}
	if config == nil {
		config = &tls.Config{MinVersion: tls.VersionTLS12}
	}
	if t.server != "" {
		config.ServerName = t.server
	}
	config.InsecureSkipVerify = t.insecure
	if t.ca != "" {
		pem, err := os.ReadFile(t.ca)
		if err != nil {
			return nil, fmt.Errorf("--tls-ca: %w", err)
		}
		config.RootCAs = x509.NewCertPool()
		if !config.RootCAs.AppendCertsFromPEM(pem) {
			return nil, fmt.Errorf("--tls-ca: no certificate in %s", t.ca)
		}
	}
	if (t.cert == "") != (t.key == "") {
		return nil, errors.New("--tls-cert and --tls-key need each other")
	}
	if t.cert != "" {
		pair, err := tls.LoadX509KeyPair(t.cert, t.key)
		if err != nil {
			return nil, fmt.Errorf("--tls-cert: %w", err)
		}
		config.Certificates = []tls.Certificate{pair}
	}
	return config, nil
}

// forHosts is the configuration for hosts other than the URL's: each must have its own name in its certificate.
func (t *tlsFlags) forHosts(config *tls.Config) *tls.Config {
	if config == nil || t.server != "" {
		return config
	}
	config = config.Clone()
	config.ServerName = ""
	return config
}
