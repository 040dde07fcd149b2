package conformance

import (
	"context"
	"strings"
	"testing"
	"time"

	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A slowDisks connects to clients whose Create starts an operation. Observe reports the operation until it was called
// often enough.
type slowDisks struct {
	*diskClient

	observations int // of an operation, until its end
	left         map[string]int
}

func (s *slowDisks) Connect(context.Context, resource.Managed) (managed.ExternalClient, error) {
	return s, nil
}

func (s *slowDisks) Create(ctx context.Context, mg resource.Managed) error {
	if err := s.diskClient.Create(ctx, mg); err != nil {
		return err
	}
	s.left[mg.GetName()] = s.observations

	return external.InProgress(mg.GetName(), 0)
}

func (s *slowDisks) Observe(ctx context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
	if id := external.OperationHandle(ctx); id != "" && s.left[id] > 0 {
		s.left[id]--

		return managed.ExternalObservation{}, external.InProgress(id, 0)
	}

	return s.diskClient.Observe(ctx, mg)
}

// TestOperations follows the operation of Create until its end, and reports an operation that never ends.
func TestOperations(t *testing.T) {
	cases := map[string]struct {
		reason       string
		observations int
		patience     time.Duration
		want         string
	}{
		"Ends": {
			reason: "An operation that ends is a creation.", observations: 2, patience: time.Hour,
		},
		"NeverEnds": {
			reason: "An operation that goes on is named.", observations: 1 << 30, patience: 20 * time.Millisecond,
			want: "still working on it",
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			d := newDiskService(Named)
			s := d.suite(&slowDisks{&diskClient{d}, tc.observations, map[string]int{}})
			s.Within, s.Patience = time.Nanosecond, tc.patience
			k := examine(t, s)
			var found []string
			for _, f := range k.findings.list {
				found = append(found, f.String())
			}
			if got := strings.Join(found, "\n"); (got != "") != (tc.want != "") || !strings.Contains(got, tc.want) {
				t.Errorf("%s\nwant %q, got %q", tc.reason, tc.want, got)
			}
		})
	}
}
