package pki

import (
	"bytes"
	"crypto/tls"
	"crypto/x509"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
)

var start = time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC)

func at(t time.Time) func() time.Time { return func() time.Time { return t } }

func open(t *testing.T, dir string, now time.Time) *Authority {
	t.Helper()
	a, err := Open(dir, at(now))
	if err != nil {
		t.Fatal(err)
	}
	return a
}

func read(t *testing.T, path string) []byte {
	t.Helper()
	content, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	return content
}

func leaf(t *testing.T, p Pair) *x509.Certificate {
	t.Helper()
	pair, err := tls.X509KeyPair(p.Certificate, p.Key)
	if err != nil {
		t.Fatal(err)
	}
	return pair.Leaf
}

func TestOpenKeepsAuthority(t *testing.T) {
	dir := t.TempDir()
	first := open(t, dir, start)
	second := open(t, dir, start.AddDate(9, 0, 0))
	if !bytes.Equal(first.Certificate(), second.Certificate()) {
		t.Error("the authority changed within its ten years")
	}
	if got := first.certificate.NotAfter.Sub(start); got != authorityLife {
		t.Errorf("the authority is valid for %s, want ten years", got)
	}
	for _, name := range []string{"ca.key", "ca.crt"} {
		info, err := os.Stat(filepath.Join(dir, name))
		if err != nil {
			t.Fatal(err)
		}
		if got := info.Mode().Perm(); got != 0o600 {
			t.Errorf("mode of %s is %o, want 600", name, got)
		}
	}
}

func TestOpenRefuses(t *testing.T) {
	cases := map[string]struct {
		reason string
		now    time.Time
		change func(t *testing.T, dir string) error
		want   string
	}{
		"Damaged": {
			"a disk was full", start,
			func(_ *testing.T, dir string) error {
				return os.WriteFile(filepath.Join(dir, "ca.crt"), []byte("---"), 0o600)
			},
			"it is damaged",
		},
		"KeyLost": {
			"the key was removed", start,
			func(_ *testing.T, dir string) error { return os.Remove(filepath.Join(dir, "ca.key")) },
			"no such file",
		},
		"KeyAlone": {
			"the certificate was removed", start,
			func(_ *testing.T, dir string) error { return os.Remove(filepath.Join(dir, "ca.crt")) },
			"no such file",
		},
		"OtherKey": {
			"the key is that of another authority", start,
			func(t *testing.T, dir string) error {
				other := t.TempDir()
				open(t, other, start)
				return os.WriteFile(filepath.Join(dir, "ca.key"), read(t, filepath.Join(other, "ca.key")), 0o600)
			},
			"it is damaged",
		},
		"NoAuthority": {
			"a pair that may not sign is in its place", start,
			func(t *testing.T, dir string) error {
				p, err := open(t, dir, start).Client("jane", nil, time.Hour)
				return errors.Join(err, write(filepath.Join(dir, "ca.crt"), p.Certificate),
					write(filepath.Join(dir, "ca.key"), p.Key))
			},
			"not an authority",
		},
		"Expired":  {"ten years are over", start.AddDate(10, 0, 1), nil, "it is valid from"},
		"TooEarly": {"the clock stands in the past", start.AddDate(-1, 0, 0), nil, "it is valid from"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			open(t, dir, start)
			if c.change != nil {
				if err := c.change(t, dir); err != nil {
					t.Fatal(err)
				}
			}
			_, err := Open(dir, at(c.now))
			if err == nil || !strings.Contains(err.Error(), c.want) ||
				!strings.Contains(err.Error(), "remove "+dir+" to get a new one") {
				t.Errorf("%s: error %v, want %q and what to do", c.reason, err, c.want)
			}
		})
	}
}

func TestReadMakesNothing(t *testing.T) {
	dir := t.TempDir()
	if _, err := Read(dir, at(start)); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("error %v, want fs.ErrNotExist", err)
	}
	if left, _ := filepath.Glob(filepath.Join(dir, "*")); len(left) > 0 {
		t.Errorf("made %q", left)
	}
}

func TestServerIsRenewed(t *testing.T) {
	year := start.Add(pairLife)
	cases := map[string]struct {
		reason string
		now    time.Time
		change func(dir string) error
		same   bool
	}{
		"Fresh":      {"a new certificate is kept", start.Add(time.Hour), nil, true},
		"Month":      {"it is kept until a month before its end", year.Add(-renewBefore - time.Second), nil, true},
		"NearExpiry": {"it is made again a month before its end", year.Add(-renewBefore), nil, false},
		"Expired":    {"an expired one is made again", year.Add(time.Hour), nil, false},
		"KeyLost": {"a pair without its key is made again", start,
			func(dir string) error { return os.Remove(filepath.Join(dir, "server.key")) }, false},
		"Interrupted": {"a key whose certificate was not written is replaced", start,
			func(dir string) error { return os.Remove(filepath.Join(dir, "server.crt")) }, false},
		"OtherAuthority": {"a new authority signs its own", start, func(dir string) error {
			return errors.Join(os.Remove(filepath.Join(dir, "ca.crt")), os.Remove(filepath.Join(dir, "ca.key")))
		}, false},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			dir := t.TempDir()
			certFile, _, err := open(t, dir, start).Server()
			if err != nil {
				t.Fatal(err)
			}
			before := read(t, certFile)
			if c.change != nil {
				if err := c.change(dir); err != nil {
					t.Fatal(err)
				}
			}
			a := open(t, dir, c.now)
			certFile, keyFile, err := a.Server()
			if err != nil {
				t.Fatal(err)
			}
			after := read(t, certFile)
			if bytes.Equal(before, after) != c.same {
				t.Errorf("%s: kept is %t, want %t", c.reason, bytes.Equal(before, after), c.same)
			}
			roots := x509.NewCertPool()
			roots.AppendCertsFromPEM(a.Certificate())
			server := leaf(t, Pair{Certificate: after, Key: read(t, keyFile)})
			for _, host := range []string{"127.0.0.1", "localhost"} {
				if _, err := server.Verify(x509.VerifyOptions{Roots: roots, CurrentTime: c.now, DNSName: host}); err != nil {
					t.Errorf("%s: clients of %s: %v", c.reason, host, err)
				}
			}
		})
	}
}

func TestDamagedPairSaysWhatToDo(t *testing.T) {
	dir := t.TempDir()
	a := open(t, dir, start)
	certFile, _, err := a.Server()
	if err != nil {
		t.Fatal(err)
	}
	if err := os.WriteFile(certFile, []byte("garbage"), 0o600); err != nil {
		t.Fatal(err)
	}
	if _, _, err := a.Server(); err == nil || !strings.Contains(err.Error(), certFile) ||
		!strings.Contains(err.Error(), "remove it and its key") {
		t.Errorf("error %v, want the file and what to do", err)
	}
}

func TestClient(t *testing.T) {
	a := open(t, t.TempDir(), start)
	roots := x509.NewCertPool()
	roots.AppendCertsFromPEM(a.Certificate())
	cases := map[string]struct {
		reason string
		valid  time.Duration
		end    time.Time
	}{
		"Hour":    {"as long as asked for", time.Hour, start.Add(time.Hour)},
		"Century": {"never longer than the authority", 100 * 365 * day, a.certificate.NotAfter},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			p, err := a.Client("jane", []string{"admin", "staff"}, c.valid)
			if err != nil {
				t.Fatal(err)
			}
			got := leaf(t, p)
			if !got.NotAfter.Equal(c.end) {
				t.Errorf("%s: valid until %s, want %s", c.reason, got.NotAfter, c.end)
			}
			if diff := cmp.Diff([]string{"jane", "admin", "staff"},
				append([]string{got.Subject.CommonName}, got.Subject.Organization...)); diff != "" {
				t.Errorf("user and groups: -want, +got:\n%s", diff)
			}
			usage := x509.VerifyOptions{Roots: roots, CurrentTime: start,
				KeyUsages: []x509.ExtKeyUsage{x509.ExtKeyUsageClientAuth}}
			if _, err := got.Verify(usage); err != nil {
				t.Errorf("as a client: %v", err)
			}
			usage.KeyUsages = []x509.ExtKeyUsage{x509.ExtKeyUsageServerAuth}
			if _, err := got.Verify(usage); err == nil {
				t.Error("a user's certificate passes for a server's")
			}
		})
	}
}

func TestServiceAccountKeyIsKept(t *testing.T) {
	dir := t.TempDir()
	path, err := open(t, dir, start).ServiceAccountKeyFile()
	if err != nil {
		t.Fatal(err)
	}
	before := read(t, path)
	if _, err := open(t, dir, start).ServiceAccountKeyFile(); err != nil {
		t.Fatal(err)
	}
	if !bytes.Equal(before, read(t, path)) {
		t.Error("tokens issued before stop working: the key changed")
	}
}
