package cli

import (
	"errors"
	"strings"
	"testing"
	"time"
)

// A full output stores nothing, as /dev/full.
type full struct{}

func (full) Write([]byte) (int, error) { return 0, errors.New("no space left on device") }

// TestFullOutput checks that no command succeeds, or says no, if its output could not be written.
func TestFullOutput(t *testing.T) {
	for name, args := range map[string][]string{
		"Drift": {"drift"}, "Why": {"why", "stream/orders", "--ask=false"}, "History": {"history", "stream/orders"},
		"Wait": {"wait", "stream/orders"}, "Pause": {"pause", "stream/orders"}, "Resume": {"resume", "stream/paused"},
		"Reconcile": {"reconcile", "stream/orders"}, "Version": {"version"}, "Completion": {"completion", "bash"},
		"JSON": {"wait", "stream/orders", "-o", "json"}, "Help": {"--help"}, "CommandHelp": {"help", "wait"},
		"Complete": {"__complete", "why", ""},
	} {
		t.Run(name, func(t *testing.T) {
			s := newServer(t)
			s.add("streams.nats.example.org", stream("orders", differs))
			s.add("streams.nats.example.org", stream("paused", set("true", "metadata", "annotations", keyPaused)))

			var stderr strings.Builder

			command := append([]string{args[0], "--kubeconfig", s.kubeconfig}, args[1:]...)
			code := run(t.Context(), command, &console{
				in: strings.NewReader(""), out: full{}, err: &stderr, now: time.Now, limit: s.limit,
			})

			if code != 1 || strings.Count(stderr.String(), "no space left on device") != 1 {
				t.Errorf("exit code %d, and\n%s", code, &stderr)
			}
		})
	}
}
