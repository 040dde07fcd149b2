package conformance

import (
	"context"
	"strings"
	"testing"
	"time"
)

// TestSlowProbe: a probe whose deadline ends is called again with more time. If that does not help, the environment of
// the test has failed, and no property is said to be broken.
func TestSlowProbe(t *testing.T) {
	cases := map[string]struct {
		reason string
		slow   func(n int) bool // whether the n-th List does not end in time
		says   string           // about the environment
	}{
		"Once":   {"a busy machine", func(n int) bool { return n%7 == 0 }, ""},
		"Always": {"a system that is too slow", func(n int) bool { return n > 20 }, "Suite.CallTimeout"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			d, n := newDiskService(Named), 0
			s := d.suite(&diskClient{d})
			s.Within, s.Samples = time.Nanosecond, s.Samples[:1]
			s.Probe = liar{diskService: d, mend: true, list: func(ctx context.Context) ([]Resource, error) {
				if n++; c.slow(n) {
					return nil, context.DeadlineExceeded
				}

				return d.List(ctx)
			}}
			k := examine(t, s)
			for _, f := range k.findings.list {
				t.Errorf("%s: %s", c.reason, f)
			}
			if got := k.environment(); (got == "") != (c.says == "") || !strings.Contains(got, c.says) {
				t.Errorf("%s: the environment is %q", c.reason, got)
			}
		})
	}
}
