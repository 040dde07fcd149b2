package statuspage

import (
	"strings"
	"testing"
)

// TestCheckAddress: only a loopback address is accepted, and the error says what to give instead.
func TestCheckAddress(t *testing.T) {
	for _, good := range []string{"", "127.0.0.1:8082", "127.0.0.1:0", "localhost:8082", "[::1]:8082", "127.1.2.3:1"} {
		if err := CheckAddress(good); err != nil {
			t.Errorf("%q: %v", good, err)
		}
	}
	for _, bad := range []string{
		":8082", "0.0.0.0:8082", "[::]:8082", "10.1.2.3:8082", "example.org:8082", "127.0.0.1", "localhost", "8082",
		"127.0.0.1:http", "127.0.0.1:70000", "127.0.0.1:", "[::ffff:10.0.0.1]:80", "localhost.example.org:80",
	} {
		err := CheckAddress(bad)
		if err == nil || !strings.Contains(err.Error(), "127.0.0.1:8082") ||
			!strings.Contains(err.Error(), "kubectl port-forward") {
			t.Errorf("%q: %v", bad, err)
		}
	}
}

// TestNoAddress: without an address there is no page, and the manager is not used.
func TestNoAddress(t *testing.T) {
	option, err := Add(nil, Options{})
	if err != nil || option == nil {
		t.Fatalf("option %v, error %v", option != nil, err)
	}
	option(nil)
	if _, err := Add(nil, Options{Address: ":8082"}); err == nil {
		t.Error("an address that others can reach is accepted")
	}
}
