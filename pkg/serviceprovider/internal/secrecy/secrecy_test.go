package secrecy_test

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"k8s.io/client-go/rest"

	"github.com/moorage-dev/moorage/internal/redact"
	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/serviceprovider/internal/secrecy"
)

// TestOf: whatever a connection is let in by is masked, and what says where it goes is not.
func TestOf(t *testing.T) {
	const secret = "hV7canary9QxL"
	file := filepath.Join(t.TempDir(), "secret")
	if err := os.WriteFile(file, []byte(secret+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for name, config := range map[string]*rest.Config{
		"token":      {BearerToken: secret},
		"password":   {Username: "admin", Password: secret},
		"key":        {TLSClientConfig: rest.TLSClientConfig{KeyData: []byte(secret)}},
		"token file": {BearerToken: "the one before it", BearerTokenFile: file},
		"key file":   {TLSClientConfig: rest.TLSClientConfig{KeyFile: file}},
		"lost file":  {BearerToken: secret, BearerTokenFile: filepath.Join(t.TempDir(), "none")},
	} {
		config.Host = "https://east.example"
		got := redact.NewMask(secrecy.Of(nil, config)...).String("east.example does not let " + secret + " in")
		if strings.Contains(got, secret) || !strings.Contains(got, "east.example does not let") {
			t.Errorf("%s: got %q", name, got)
		}
	}
	if got := secrecy.Of(nil); len(got) != 0 {
		t.Errorf("got %d secrets of nothing", len(got))
	}
}

// TestOfConnections: what was renewed after a connection was made is known, and so is what a
// configuration without a renewal has.
func TestOfConnections(t *testing.T) {
	current := "renewed-1"
	renewing := clusters.New("a").WithRESTConfig(&rest.Config{BearerToken: "first"}).
		WithCredentials(func() [][]byte { return [][]byte{[]byte(current)} })
	all := []secrecy.Connection{secrecy.From(nil),
		secrecy.From(clusters.New("b").WithRESTConfig(&rest.Config{BearerToken: "other-token"})),
		secrecy.From(renewing)}
	current = "renewed-2"
	text := redact.NewMask(secrecy.OfConnections(all...)...).String("neither renewed-2 nor other-token")
	if text != "neither [REDACTED] nor [REDACTED]" {
		t.Errorf("got %q", text)
	}
}
