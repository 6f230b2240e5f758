package zktest

import (
	"crypto/ecdsa"
	"crypto/elliptic"
	"crypto/rand"
	"crypto/tls"
	"crypto/x509"
	"crypto/x509/pkix"
	"encoding/pem"
	"errors"
	"fmt"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"

	"github.com/holdfast-go/holdfast/internal/testkit/servers"
)

// keys are what a server with TLS and its clients show one another: one certificate, which both trust and both have.
type keys struct {
	pair   string // the file with the certificate and its key
	trust  string // the file with the certificate alone
	client *tls.Config
}

// newKeys makes keys in a folder.
func newKeys(dir string) (*keys, error) {
	private, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, err
	}
	is := &x509.Certificate{
		SerialNumber: big.NewInt(1), Subject: pkix.Name{CommonName: "zktest"},
		NotBefore: time.Now().Add(-time.Hour), NotAfter: time.Now().Add(24 * time.Hour),
		KeyUsage:    x509.KeyUsageDigitalSignature | x509.KeyUsageCertSign,
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth, x509.ExtKeyUsageClientAuth},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)}, DNSNames: []string{"localhost"},
		BasicConstraintsValid: true, IsCA: true,
	}
	der, err := x509.CreateCertificate(rand.Reader, is, is, private.Public(), private)
	if err != nil {
		return nil, err
	}
	inside, err := x509.MarshalPKCS8PrivateKey(private)
	if err != nil {
		return nil, err
	}
	certificate := pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der})
	key := pem.EncodeToMemory(&pem.Block{Type: "PRIVATE KEY", Bytes: inside})
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(certificate)
	k := &keys{
		pair: filepath.Join(dir, "pair.pem"), trust: filepath.Join(dir, "trust.pem"),
		client: &tls.Config{
			RootCAs: roots, Certificates: []tls.Certificate{{Certificate: [][]byte{der}, PrivateKey: private}},
		},
	}
	return k, errors.Join(os.WriteFile(k.trust, certificate, 0o600),
		os.WriteFile(k.pair, append(key, certificate...), 0o600))
}

// lines are those of the configuration of the server.
func (k *keys) lines(port servers.Port) []string {
	return []string{
		fmt.Sprintf("secureClientPort=%d", port.Number), "secureClientPortAddress=127.0.0.1",
		"serverCnxnFactory=org.apache.zookeeper.server.NettyServerCnxnFactory",
		"ssl.keyStore.location=" + k.pair, "ssl.keyStore.type=PEM",
		"ssl.trustStore.location=" + k.trust, "ssl.trustStore.type=PEM",
	}
}

// TLS returns what a client needs to connect to [Server.SecureAddr]: it trusts the server, and has a certificate, which
// the server wants to see unless its configuration says "ssl.clientAuth=none".
func (s *Server) TLS() *tls.Config { return s.keys.client.Clone() }
