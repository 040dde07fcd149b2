package command

import (
	"bytes"
	"crypto/x509"
	"encoding/pem"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"k8s.io/client-go/tools/clientcmd"

	"github.com/moorage-dev/moorage/devcluster/internal/folder"
	"github.com/moorage-dev/moorage/devcluster/internal/pki"
)

func call(args ...string) (code int, out, err string) {
	var o, e bytes.Buffer
	code = Run(args, strings.NewReader(""), &o, &e)
	return code, o.String(), e.String()
}

func TestMisuse(t *testing.T) {
	cases := map[string]struct {
		reason string
		args   []string
		want   string
	}{
		"Nothing":         {"a command is needed", nil, "no command given"},
		"Unknown":         {"a typing error", []string{"server"}, `no command "server"`},
		"UnknownFlag":     {"a typing error in a flag", []string{"serve", "--dri", "x"}, "unknown flag: --dri"},
		"Argument":        {"a folder without --dir", []string{"serve", "folder"}, `does not take ["folder"]`},
		"ServeWithoutDir": {"nowhere to put the data", []string{"serve"}, "--dir is required"},
		"Port":            {"no such port", []string{"serve", "--dir", "x", "--port", "65536"}, "--port"},
		"PortText":        {"no number", []string{"serve", "--dir", "x", "--port", "https"}, "--port"},
		"IdleExit": {"time does not run backwards", []string{"serve", "--dir", "x", "--idle-exit", "-1s"},
			"must not be negative"},
		"MintWithoutDir":  {"no authority to sign", []string{"kubeconfig", "--user", "jane"}, "--dir is required"},
		"MintWithoutUser": {"nobody to sign for", []string{"kubeconfig", "--dir", "x"}, "--user is required"},
		"MintForNoTime": {"it would never be valid", []string{"kubeconfig", "--dir", "x", "--user", "jane", "--ttl", "0"},
			"more than zero"},
		"MintForBadTime": {"a unit is missing", []string{"kubeconfig", "--dir", "x", "--user", "jane", "--ttl", "7"},
			"--ttl"},
		"VersionWithAnFlag": {"version has none", []string{"version", "--short"}, "unknown flag: --short"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			code, out, err := call(c.args...)
			if code != 2 || out != "" || !strings.Contains(err, c.want) || !strings.Contains(err, "Usage:") {
				t.Errorf("%s: exit code %d, output %q, error %q; want 2, %q and the usage", c.reason, code, out, err, c.want)
			}
		})
	}
	if _, err := os.Stat("x"); err == nil {
		t.Error("a call that was refused made its folder")
	}
}

func TestHelp(t *testing.T) {
	for name, c := range map[string]struct {
		args []string
		want string
	}{
		"Program":    {[]string{"--help"}, "devcluster serve --dir D"},
		"Serve":      {[]string{"serve", "--help"}, "--exit-on-stdin-eof"},
		"Kubeconfig": {[]string{"kubeconfig", "-h"}, "--ttl"},
		"Version":    {[]string{"version"}, "kubernetes "},
	} {
		t.Run(name, func(t *testing.T) {
			if code, out, err := call(c.args...); code != 0 || err != "" || !strings.Contains(out, c.want) {
				t.Errorf("exit code %d, output %q, error %q; want 0 and %q", code, out, err, c.want)
			}
		})
	}
}

// served makes a folder as serve leaves it.
func served(t *testing.T) (folder.Folder, *pki.Authority) {
	t.Helper()
	f, lock, err := folder.Open(filepath.Join(t.TempDir(), "d"))
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = lock.Close() })
	authority, err := pki.Open(f.PKI(), time.Now)
	if err != nil {
		t.Fatal(err)
	}
	listener, err := f.Listen(0)
	if err != nil {
		t.Fatal(err)
	}
	if err := listener.Close(); err != nil {
		t.Fatal(err)
	}
	return f, authority
}

func TestKubeconfig(t *testing.T) {
	f, authority := served(t)
	code, out, stderr := call("kubeconfig", "--dir", string(f), "--user", "jane", "--group", "a,b", "--group", "admin",
		"--ttl", "10m")
	if code != 0 {
		t.Fatalf("exit code %d: %s", code, stderr)
	}
	config, err := clientcmd.RESTConfigFromKubeConfig([]byte(out))
	if err != nil {
		t.Fatal(err)
	}
	if string(config.CAData) != string(authority.Certificate()) {
		t.Error("it does not trust the folder's authority")
	}
	user := certificate(t, config.CertData)
	if got := strings.Join(append([]string{user.Subject.CommonName}, user.Subject.Organization...),
		" "); got != "jane a,b admin" {
		t.Errorf("user and groups %q, want %q", got, "jane a,b admin")
	}
	if left := time.Until(user.NotAfter); left > 10*time.Minute || left < 9*time.Minute {
		t.Errorf("valid for another %s, want ten minutes", left)
	}
}

func TestKubeconfigFails(t *testing.T) {
	cases := map[string]struct {
		reason string
		change func(f folder.Folder) error
		want   string
	}{
		"NoFolder": {
			"a typing error in the folder",
			func(f folder.Folder) error { return os.RemoveAll(string(f)) },
			"devcluster serve --dir",
		},
		"NeverServed": {
			"the port is not known yet",
			func(f folder.Folder) error { return os.Remove(filepath.Join(string(f), "port")) },
			"devcluster serve --dir",
		},
		"Damaged": {
			"the authority cannot be read",
			func(f folder.Folder) error {
				return os.WriteFile(filepath.Join(f.PKI(), "ca.key"), []byte("garbage"), 0o600)
			},
			"restore it, or remove",
		},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			f, _ := served(t)
			if err := c.change(f); err != nil {
				t.Fatal(err)
			}
			code, out, err := call("kubeconfig", "--dir", string(f), "--user", "jane")
			if code != 1 || out != "" || !strings.Contains(err, c.want) {
				t.Errorf("%s: exit code %d, output %q, error %q; want 1 and %q", c.reason, code, out, err, c.want)
			}
		})
	}
}

func TestServeRefusesBeforeItStarts(t *testing.T) {
	f, _ := served(t)
	if code, _, err := call("serve", "--dir", string(f)); code != 1 ||
		!strings.Contains(err, "in use by another devcluster") {
		t.Errorf("live folder: exit code %d, error %q; want 1 and a refusal", code, err)
	}
	if code, _, err := call("serve", "--dir", "/proc/devcluster"); code != 1 ||
		!strings.Contains(err, "choose another one with --dir") {
		t.Errorf("unwritable folder: exit code %d, error %q; want 1 and what to do", code, err)
	}
}

func certificate(t *testing.T, content []byte) *x509.Certificate {
	t.Helper()
	block, _ := pem.Decode(content)
	if block == nil {
		t.Fatal("no certificate in the kubeconfig")
	}
	c, err := x509.ParseCertificate(block.Bytes)
	if err != nil {
		t.Fatal(err)
	}
	return c
}
