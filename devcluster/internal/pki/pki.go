// Package pki keeps the certificates of one devcluster in a folder: an
// authority of its own, the server's and the administrator's pair, and the key
// that signs service-account tokens. Read access to the folder is administrator
// access. [Open] is the place to start.
package pki

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
	"io/fs"
	"math/big"
	"net"
	"os"
	"path/filepath"
	"time"
)

const (
	day = 24 * time.Hour

	authorityLife = 10 * 365 * day
	pairLife      = 365 * day
	renewBefore   = 30 * day

	// backdate forgives a clock that is a little behind, as in a container.
	backdate = 5 * time.Minute
)

// Pair is a certificate and its key, in PEM.
type Pair struct {
	Certificate []byte
	Key         []byte
}

// Authority signs for one folder. Its methods must not be called concurrently.
type Authority struct {
	dir         string
	now         func() time.Time
	certificate *x509.Certificate
	pem         []byte
	key         *ecdsa.PrivateKey
}

// Open reads the authority in dir. If dir has none, it makes one that is valid
// for ten years. An authority that is damaged or has expired is an error, never
// replaced: credentials that it signed would stop working without a word.
func Open(dir string, now func() time.Time) (*Authority, error) {
	a := &Authority{dir: dir, now: now}
	err := a.load()
	if errors.Is(err, fs.ErrNotExist) && !exists(a.path("ca.crt")) && !exists(a.path("ca.key")) {
		if err := a.create(); err != nil {
			return nil, fmt.Errorf("cannot make a certificate authority: %w", err)
		}
		err = a.load()
	}
	if err != nil {
		return nil,
			fmt.Errorf(
				"cannot use certificate authority %s: %w; restore it, or remove %s to get a new one (credentials issued so far "+
					"stop working)",
				a.path("ca.crt"), err, dir)
	}
	return a, nil
}

// Read is Open for a folder that must have an authority. If it has none, the
// error wraps fs.ErrNotExist.
func Read(dir string, now func() time.Time) (*Authority, error) {
	if _, err := os.Stat(filepath.Join(dir, "ca.crt")); err != nil {
		return nil, err
	}
	return Open(dir, now)
}

// CertificateFile is the path of the authority's certificate.
func (a *Authority) CertificateFile() string { return a.path("ca.crt") }

// Certificate is the authority's certificate in PEM.
func (a *Authority) Certificate() []byte { return a.pem }

// Server returns the paths of the API server's certificate for 127.0.0.1 and
// of its key. The pair is made if it is missing, and again a month before it
// expires.
func (a *Authority) Server() (certFile, keyFile string, err error) {
	template := &x509.Certificate{
		Subject:     pkix.Name{CommonName: "devcluster"},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth},
		DNSNames:    []string{"localhost", "kubernetes", "kubernetes.default", "kubernetes.default.svc"},
		IPAddresses: []net.IP{net.IPv4(127, 0, 0, 1)},
	}
	_, err = a.keep("server", template)
	return a.path("server.crt"), a.path("server.key"), err
}

// Admin returns the administrator's pair. It is kept like the server's.
func (a *Authority) Admin() (Pair, error) {
	return a.keep("admin", clientTemplate("devcluster-admin", []string{"system:masters"}))
}

// Client makes a pair for a user that is valid for the given time, or until the
// authority expires if that is sooner. It is not kept.
func (a *Authority) Client(user string, groups []string, valid time.Duration) (Pair, error) {
	return a.issue(clientTemplate(user, groups), valid)
}

// ServiceAccountKeyFile returns the path of the key that signs service-account
// tokens. It is made if it is missing.
func (a *Authority) ServiceAccountKeyFile() (string, error) {
	path := a.path("sa.key")
	if exists(path) {
		return path, nil
	}
	_, keyPEM, err := newKey()
	if err != nil {
		return "", err
	}
	return path, write(path, keyPEM)
}

// clientTemplate names user and groups where the API server looks for them.
func clientTemplate(user string, groups []string) *x509.Certificate {
	return &x509.Certificate{
		Subject:     pkix.Name{CommonName: user, Organization: groups},
		ExtKeyUsage: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth},
	}
}

func (a *Authority) path(name string) string { return filepath.Join(a.dir, name) }

func (a *Authority) load() error {
	certPEM, err := os.ReadFile(a.path("ca.crt"))
	if err != nil {
		return err
	}
	keyPEM, err := os.ReadFile(a.path("ca.key"))
	if err != nil {
		return err
	}
	pair, err := tls.X509KeyPair(certPEM, keyPEM)
	if err != nil {
		return fmt.Errorf("it is damaged: %w", err)
	}
	key, ok := pair.PrivateKey.(*ecdsa.PrivateKey)
	if !ok || !pair.Leaf.IsCA {
		return errors.New("it is not an authority made by devcluster")
	}
	if now := a.now(); now.After(pair.Leaf.NotAfter) || now.Before(pair.Leaf.NotBefore) {
		return fmt.Errorf("it is valid from %s to %s only, and now is %s",
			pair.Leaf.NotBefore.Format(time.RFC3339), pair.Leaf.NotAfter.Format(time.RFC3339), now.Format(time.RFC3339))
	}
	a.certificate, a.pem, a.key = pair.Leaf, certPEM, key
	return nil
}

func (a *Authority) create() error {
	key, keyPEM, err := newKey()
	if err != nil {
		return err
	}
	template := &x509.Certificate{
		Subject:               pkix.Name{CommonName: "devcluster-ca"},
		IsCA:                  true,
		BasicConstraintsValid: true,
		KeyUsage:              x509.KeyUsageCertSign | x509.KeyUsageDigitalSignature,
	}
	certPEM, err := sign(template, template, key, key, a.now(), a.now().Add(authorityLife))
	if err != nil {
		return err
	}
	if err := write(a.path("ca.key"), keyPEM); err != nil {
		return err
	}
	return write(a.path("ca.crt"), certPEM)
}

// keep returns the stored pair of that name if it will do for a while.
func (a *Authority) keep(name string, template *x509.Certificate) (Pair, error) {
	certFile, keyFile := a.path(name+".crt"), a.path(name+".key")
	stored, err := readPair(certFile, keyFile)
	switch {
	case err == nil:
		if a.current(stored.Certificate) {
			return stored, nil
		}
	case !errors.Is(err, fs.ErrNotExist):
		return Pair{}, fmt.Errorf("cannot use certificate %s: %w; remove it and its key to get a new one", certFile, err)
	}
	made, err := a.issue(template, pairLife)
	if err != nil {
		return Pair{}, err
	}
	// The certificate last: without it, the pair is made again.
	if err := errors.Join(remove(certFile), write(keyFile, made.Key), write(certFile, made.Certificate)); err != nil {
		return Pair{}, err
	}
	return made, nil
}

// current reports whether a certificate is signed by this authority and does
// not expire soon. readPair has parsed it before.
func (a *Authority) current(certPEM []byte) bool {
	block, _ := pem.Decode(certPEM)
	certificate, err := x509.ParseCertificate(block.Bytes)
	return err == nil &&
		certificate.CheckSignatureFrom(a.certificate) == nil &&
		!a.now().Before(certificate.NotBefore) &&
		a.now().Add(renewBefore).Before(certificate.NotAfter)
}

func (a *Authority) issue(template *x509.Certificate, valid time.Duration) (Pair, error) {
	key, keyPEM, err := newKey()
	if err != nil {
		return Pair{}, err
	}
	notAfter := a.now().Add(valid)
	if notAfter.After(a.certificate.NotAfter) {
		notAfter = a.certificate.NotAfter
	}
	template.KeyUsage = x509.KeyUsageDigitalSignature
	certPEM, err := sign(template, a.certificate, key, a.key, a.now(), notAfter)
	return Pair{Certificate: certPEM, Key: keyPEM}, err
}

func sign(template, parent *x509.Certificate, key, by *ecdsa.PrivateKey, now, notAfter time.Time) ([]byte, error) {
	serial, err := rand.Int(rand.Reader, new(big.Int).Lsh(big.NewInt(1), 127))
	if err != nil {
		return nil, fmt.Errorf("cannot make a serial number: %w", err)
	}
	template.SerialNumber = serial
	template.NotBefore, template.NotAfter = now.Add(-backdate), notAfter
	der, err := x509.CreateCertificate(rand.Reader, template, parent, key.Public(), by)
	if err != nil {
		return nil, fmt.Errorf("cannot sign a certificate: %w", err)
	}
	return pem.EncodeToMemory(&pem.Block{Type: "CERTIFICATE", Bytes: der}), nil
}

func newKey() (*ecdsa.PrivateKey, []byte, error) {
	key, err := ecdsa.GenerateKey(elliptic.P256(), rand.Reader)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot make a key: %w", err)
	}
	der, err := x509.MarshalECPrivateKey(key)
	if err != nil {
		return nil, nil, fmt.Errorf("cannot encode a key: %w", err)
	}
	return key, pem.EncodeToMemory(&pem.Block{Type: "EC PRIVATE KEY", Bytes: der}), nil
}

func readPair(certFile, keyFile string) (Pair, error) {
	certPEM, err := os.ReadFile(certFile)
	if err != nil {
		return Pair{}, err
	}
	keyPEM, err := os.ReadFile(keyFile)
	if err != nil {
		return Pair{}, err
	}
	if _, err := tls.X509KeyPair(certPEM, keyPEM); err != nil {
		return Pair{}, fmt.Errorf("it is damaged: %w", err)
	}
	return Pair{Certificate: certPEM, Key: keyPEM}, nil
}

func exists(path string) bool {
	_, err := os.Lstat(path)
	return err == nil
}

func remove(path string) error {
	if err := os.Remove(path); !errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return nil
}

// write leaves the old file or the new one, never half of it.
func write(path string, content []byte) error {
	if err := os.WriteFile(path+".new", content, 0o600); err != nil {
		return err
	}
	return os.Rename(path+".new", path)
}
