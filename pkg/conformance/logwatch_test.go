package conformance

import (
	"context"
	"testing"
	"time"

	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/external"
)

// TestTheLogKeepsSecrets: a client that logs a secret with the logger of the process is found, also if the secret is a
// generated one that only the client knows.
func TestTheLogKeepsSecrets(t *testing.T) {
	for name, tc := range map[string]struct {
		reason, logs string
		found        bool
	}{
		"Generated": {"The client has passed it to external.Conceal.", "CREATE VOLUME KEY 'generated-93f1'", true},
		"OfSuite":   {"The suite names it.", "login with hunter2", true},
		"Harmless":  {"A line without a secret is no finding.", "CREATE VOLUME", false},
	} {
		t.Run(name, func(t *testing.T) {
			d := newDiskService(Named)
			d.stamped = true
			suite := d.suite(&wreck{diskClient: &diskClient{d}, create: func(
				ctx context.Context, p *diskClient, v *volume.Volume,
			) error {
				external.Conceal(ctx, []byte("generated-93f1"))
				ctrllog.Log.WithName("driver").Info("Exec", "statement", tc.logs)

				return p.Create(ctx, v)
			}})
			suite.Within = time.Nanosecond
			k := examine(t, suite)
			if k.findings.says("secrets-are-kept", "the log of the process shows one after Create of vol") != tc.found ||
				!tc.found && len(k.findings.list) > 0 {
				t.Errorf("%s The findings are %v", tc.reason, k.findings.list)
			}
		})
	}
}
