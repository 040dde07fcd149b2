package serviceprovider

import (
	"context"
	"strings"
	"testing"

	"github.com/go-logr/logr/funcr"
	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/moorage-dev/moorage/pkg/logging"
)

// A silentError is an error type whose nil pointer is no nil error, and panics when it is read.
type silentError struct{ text string }

func (e *silentError) Error() string { return e.text }

// explodes lets the domain panic.
func explodes(w *world) {
	w.domain.do = func(context.Context, *Foo) error { panic("a defect") }
}

type badFiller struct{ domain }

func (*badFiller) Default(context.Context, *Foo) error { panic("a defect") }

// A badGate is an access provider that panics.
type badGate struct{ *gate }

func (badGate) Reconcile(context.Context, reconcile.Request) (reconcile.Result, error) {
	panic("a defect")
}

func (badGate) ReconcileDelete(context.Context, reconcile.Request) (reconcile.Result, error) {
	panic("a defect")
}

// A badSource is a source of configurations that panics.
type badSource struct{}

func (badSource) ConfigFor(context.Context, *Foo) (*FooConfig, error) { panic("a defect") }

func (badSource) Source(func(context.Context, *FooConfig) []reconcile.Request) source.TypedSyncingSource[reconcile.Request] {
	return nil
}

// TestPanicsAreFailures: a panic of the author's code is a failure of what was to be done, which
// the object shows, whoever else does well.
func TestPanicsAreFailures(t *testing.T) {
	const (
		ready   = "Ready False ReconcileError: "
		at      = "ClusterAccessReady False ClusterAccessFailed: "
		removed = "failed cluster access reconcile delete: panic: a defect"
	)
	provides := func(b *APIReconcilerBuilder[*Foo, *FooConfig], w *world) { b.ClusterAccessReconciler(badGate{w.gate}) }
	cases := map[string]struct {
		reason string
		set    func(w *world)
		build  func(b *APIReconcilerBuilder[*Foo, *FooConfig], w *world)
		delete bool
		want   ending
	}{
		"Work": {"something may have been made", explodes, nil, false, ending{
			Phase: "Progressing", Err: "CreateOrUpdate failed: panic: a defect", Says: []string{ready + "CreateOrUpdate failed: panic: a defect", granted, created},
		}},
		"Unreadable": {"an error whose text cannot be read is one", func(w *world) { w.domain.do = func(context.Context, *Foo) error { return (*silentError)(nil) } }, nil, false, ending{
			Phase: "Progressing", Err: "CreateOrUpdate failed: panic: runtime error: invalid memory address or nil pointer dereference",
			Says: []string{ready + "CreateOrUpdate failed: panic: runtime error: invalid memory address or nil pointer dereference", granted, created},
		}},
		"Clean": {"the object stays", explodes, nil, true, ending{
			Phase: "Terminating", Err: "Delete failed: panic: a defect", Says: []string{ready + "Delete failed: panic: a defect", granted, created},
		}},
		"Default": {"nothing is asked for", nil, func(b *APIReconcilerBuilder[*Foo, *FooConfig], _ *world) { b.Reconciler(&badFiller{}) }, false, ending{
			Phase: "Progressing", Err: "failed to default object: panic: a defect",
			Says: []string{ready + "failed to default object: panic: a defect", "ServiceCreated False NotCreated: "},
		}},
		"Data": {"what access depends on", nil, func(b *APIReconcilerBuilder[*Foo, *FooConfig], w *world) {
			b.ClusterAccessReconciler(nil).AdvancedClusterAccessReconciler(SimpleProviderAdapter{Provider: w.gate}).
				AdditionalDataGenerators(func(context.Context, *Foo) (any, error) { panic("a defect") })
		}, false, ending{
			Phase: "Progressing", Err: "cluster setup error: panic: a defect",
			Says: []string{ready + "cluster setup error: panic: a defect", at + "cluster setup error: panic: a defect"},
		}},
		"Access": {"the access provider", nil, provides, false, ending{
			Phase: "Progressing", Err: "cluster setup error: panic: a defect",
			Says: []string{ready + "cluster setup error: panic: a defect", at + "cluster setup error: panic: a defect"},
		}},
		"Withdraw": {"it is to give access back", func(w *world) { w.gate.leaving = true }, provides, true, ending{
			Phase: "Terminating", Err: removed, Told: abandoned, Says: []string{ready + removed, orphaned},
		}},
		"Config": {"the source of configurations", nil, func(b *APIReconcilerBuilder[*Foo, *FooConfig], _ *world) { b.ConfigSource(badSource{}) }, false, ending{
			Phase: "Progressing", Err: "cannot tell the provider config: panic: a defect", Says: []string{ready + "cannot tell the provider config: panic: a defect"},
		}},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newFakeWorld(t)
			if tc.set != nil {
				tc.set(w)
			}
			var logged []string
			w.build = func(b *APIReconcilerBuilder[*Foo, *FooConfig]) {
				b.Logger(logging.NewLogrLogger(funcr.New(func(_, args string) { logged = append(logged, args) }, funcr.Options{})))
				if tc.build != nil {
					tc.build(b, w)
				}
			}
			f := w.create("foo")
			if tc.delete {
				w.Change(f, func() { held(f) })
				w.Delete(f)
			}
			tc.want.Name = "Failed"
			if diff := cmp.Diff(tc.want, w.ends(f)); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
			if len(logged) != 1 || !strings.Contains(logged[0], "stack") {
				t.Errorf("%s: want the stack in the log, got %q", tc.reason, logged)
			}
		})
	}
}

// TestAPanicOfASourceTakesNothing: what cannot be told just now changes nothing.
func TestAPanicOfASourceTakesNothing(t *testing.T) {
	w := newFakeWorld(t)
	f := w.create("foo")
	w.steady(f)
	w.r.configs = badSource{}
	if got := w.ends(f); got.Phase != "Ready" || got.Err != "cannot tell the provider config: panic: a defect" {
		t.Errorf("got %+v", got)
	}
}

// TestLongPanics: what is told of a panic is bounded.
func TestLongPanics(t *testing.T) {
	w := newFakeWorld(t)
	w.domain.do = func(context.Context, *Foo) error { panic(strings.Repeat("defect ", 1000)) }
	got := w.ends(w.create("foo"))
	for _, text := range append(got.Says, got.Err) {
		if len(text) > 1024+len("Ready False ReconcileError: ") {
			t.Errorf("got %d bytes", len(text))
		}
	}
}

// TestTheEndOfAProcessGoesOn: nothing stops it.
func TestTheEndOfAProcessGoesOn(t *testing.T) {
	w := newFakeWorld(t)
	w.domain.do = func(context.Context, *Foo) error { panic(processEnd{}) }
	f := w.create("foo")
	w.dies(f)
}
