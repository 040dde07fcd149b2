package server_test

import (
	"testing"

	"github.com/moorage-dev/moorage/pkg/test/server"
)

// TestShared starts one server for all tests.
func TestShared(t *testing.T) {
	var shared server.Shared
	first, second := shared.Start(t, greeter()), shared.Start(t, greeter())
	if first != second || first == "" {
		t.Errorf("the servers are at %q and %q", first, second)
	}
	if _, err := greeting(first); err != nil {
		t.Error(err)
	}
}
