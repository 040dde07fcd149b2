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

// TestBlockedProbe: a method of the probe that ignores its context is an error of the setup, which names the method. No
// property is said to be broken.
func TestBlockedProbe(t *testing.T) {
	blocks := func(context.Context) error { never(); return nil }
	cases := map[string]struct {
		change func(*Suite, *diskService)
		says   string
	}{
		"List": {func(s *Suite, d *diskService) {
			s.Probe = liar{diskService: d, list: func(ctx context.Context) ([]Resource, error) { return nil, blocks(ctx) }}
		}, "Probe.List was called with a deadline"},
		"Remove": {func(s *Suite, d *diskService) {
			s.Probe = liar{diskService: d, mend: true, remove: func(ctx context.Context, _ string) error { return blocks(ctx) }}
		}, "Probe.Remove was called with a deadline"},
		"Break": {func(s *Suite, d *diskService) {
			s.Probe = breaker{d, func(ctx context.Context) (func(context.Context) error, error) {
				return nil, blocks(ctx)
			}}
		}, "Probe.Break was called with a deadline"},
		"Mend": {func(s *Suite, d *diskService) {
			s.Probe = breaker{d, func(context.Context) (func(context.Context) error, error) { return blocks, nil }}
		}, "what Probe.Break returned was called with a deadline"},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			d := newDiskService(Named)
			s := d.suite(&diskClient{d})
			s.Within, s.Samples, s.CallTimeout = time.Nanosecond, s.Samples[:1], 250*time.Millisecond
			c.change(&s, d)
			k := examine(t, s)
			for _, f := range k.findings.list {
				t.Errorf("a finding about the client: %s", f)
			}
			if got := k.environment(); !strings.Contains(got, c.says) || !strings.Contains(got, "not the client") {
				t.Errorf("the environment is %q", got)
			}
		})
	}
}

// A breaker is a probe with another Break.
type breaker struct {
	*diskService

	begin func(context.Context) (func(context.Context) error, error)
}

func (b breaker) Break(ctx context.Context) (func(context.Context) error, error) { return b.begin(ctx) }
