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

// panickingError is an error type whose nil pointer is no nil error; its method panics then.
type panickingError struct{ text string }

func (e *panickingError) Error() string { return e.text }

// panicDomain makes the domain panic.
func panicDomain(w *world) {
	w.domain.do = func(context.Context, *Foo) error { panic("a defect") }
}

type panickingDefaulter struct{ domain }

func (*panickingDefaulter) Default(context.Context, *Foo) error { panic("a defect") }

// panickingProvider is an access provider that panics.
type panickingProvider struct{ *fakeProvider }

func (panickingProvider) Reconcile(context.Context, reconcile.Request) (reconcile.Result, error) {
	panic("a defect")
}

func (panickingProvider) ReconcileDelete(context.Context, reconcile.Request) (reconcile.Result, error) {
	panic("a defect")
}

// panickingConfigSource is a source of configurations that panics.
type panickingConfigSource struct{}

func (panickingConfigSource) ConfigFor(context.Context, *Foo) (*FooConfig, error) { panic("a defect") }

func (panickingConfigSource) Source(
	func(context.Context, *FooConfig) []reconcile.Request,
) source.TypedSyncingSource[reconcile.Request] {
	return nil
}

// TestPanicsAreFailures verifies that a panic of the author's code is a failure of its step in the
// status of one object, and that other objects are reconciled.
func TestPanicsAreFailures(t *testing.T) {
	const (
		ready   = "Ready False ReconcileError: "
		at      = "ClusterAccessReady False ClusterAccessFailed: "
		removed = "failed cluster access reconcile delete: panic: a defect"
	)
	provides := func(b *APIReconcilerBuilder[*Foo, *FooConfig], w *world) {
		b.ClusterAccessReconciler(panickingProvider{w.gate})
	}
	cases := map[string]struct {
		reason string
		set    func(w *world)
		build  func(b *APIReconcilerBuilder[*Foo, *FooConfig], w *world)
		delete bool
		want   passResult
	}{
		"Work": {"something may have been made", panicDomain, nil, false, passResult{
			Phase: "Progressing", Err: "CreateOrUpdate failed: panic: a defect", Says: []string{
				ready + "CreateOrUpdate failed: panic: a defect", granted, created,
			},
		}},
		"Unreadable": {
			"an error whose text cannot be read is one",
			func(w *world) { w.domain.do = func(context.Context, *Foo) error { return (*panickingError)(nil) } },
			nil, false,
			passResult{
				Phase: "Progressing", Err: "CreateOrUpdate failed: panic: runtime error: invalid memory address or nil pointer " +
					"dereference",
				Says: []string{
					ready + "CreateOrUpdate failed: panic: runtime error: invalid memory address or nil pointer dereference", granted,
					created,
				},
			},
		},
		"Clean": {"the object stays", panicDomain, nil, true, passResult{
			Phase: "Terminating", Err: "Delete failed: panic: a defect", Says: []string{
				ready + "Delete failed: panic: a defect", granted, created,
			},
		}},
		"Default": {
			"nothing is asked for", nil,
			func(b *APIReconcilerBuilder[*Foo, *FooConfig], _ *world) { b.Reconciler(&panickingDefaulter{}) }, false,
			passResult{
				Phase: "Progressing", Err: "failed to default object: panic: a defect",
				Says: []string{ready + "failed to default object: panic: a defect",
					"ServiceCreated False NotCreated: "},
			},
		},
		"Data": {"what access depends on", nil, func(b *APIReconcilerBuilder[*Foo, *FooConfig], w *world) {
			b.ClusterAccessReconciler(nil).AdvancedClusterAccessReconciler(SimpleProviderAdapter{Provider: w.gate}).
				AdditionalDataGenerators(func(context.Context, *Foo) (any, error) { panic("a defect") })
		}, false, passResult{
			Phase: "Progressing", Err: "cluster setup error: panic: a defect",
			Says: []string{ready + "cluster setup error: panic: a defect", at + "cluster setup error: panic: a defect"},
		}},
		"Access": {"the access provider", nil, provides, false, passResult{
			Phase: "Progressing", Err: "cluster setup error: panic: a defect",
			Says: []string{ready + "cluster setup error: panic: a defect", at + "cluster setup error: panic: a defect"},
		}},
		"Withdraw": {"it is to give access back", func(w *world) { w.gate.leaving = true }, provides, true, passResult{
			Phase: "Terminating", Err: removed, Event: abandoned, Says: []string{ready + removed, orphaned},
		}},
		"Config": {
			"the source of configurations", nil,
			func(b *APIReconcilerBuilder[*Foo, *FooConfig], _ *world) { b.ConfigSource(panickingConfigSource{}) },
			false,
			passResult{
				Phase: "Progressing", Err: "cannot read the provider config: panic: a defect", Says: []string{
					ready + "cannot read the provider config: panic: a defect",
				},
			},
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			w := newFakeWorld(t)
			if tc.set != nil {
				tc.set(w)
			}
			var logged []string
			w.build = func(b *APIReconcilerBuilder[*Foo, *FooConfig]) {
				b.Logger(logging.NewLogrLogger(funcr.New(func(_, args string) { logged = append(logged, args) },
					funcr.Options{})))
				if tc.build != nil {
					tc.build(b, w)
				}
			}
			f := w.create("foo")
			if tc.delete {
				w.Change(f, func() { withFinalizer(f) })
				w.Delete(f)
			}
			tc.want.Name = "Failed"
			if diff := cmp.Diff(tc.want, w.run(f)); diff != "" {
				t.Errorf("%s: -want +got:\n%s", tc.reason, diff)
			}
			if len(logged) != 1 || !strings.Contains(logged[0], "stack") {
				t.Errorf("%s: want the stack in the log, got %q", tc.reason, logged)
			}
		})
	}
}

// TestPanicOfConfigSourceKeepsReady verifies that an unknown configuration leaves Ready as it is.
func TestPanicOfConfigSourceKeepsReady(t *testing.T) {
	w := newFakeWorld(t)
	f := w.create("foo")
	w.steady(f)
	w.r.configs = panickingConfigSource{}
	if got := w.run(f); got.Phase != "Ready" || got.Err != "cannot read the provider config: panic: a defect" {
		t.Errorf("got %+v", got)
	}
}

// TestPanicMessageIsBounded verifies that the message of a panic is bounded.
func TestPanicMessageIsBounded(t *testing.T) {
	w := newFakeWorld(t)
	w.domain.do = func(context.Context, *Foo) error { panic(strings.Repeat("defect ", 1000)) }
	got := w.run(w.create("foo"))
	for _, text := range append(got.Says, got.Err) {
		if len(text) > 1024+len("Ready False ReconcileError: ") {
			t.Errorf("got %d bytes", len(text))
		}
	}
}

// TestProcessExitIsNotRecovered verifies that the end of the process is not recovered.
func TestProcessExitIsNotRecovered(t *testing.T) {
	w := newFakeWorld(t)
	w.domain.do = func(context.Context, *Foo) error { panic(processEnd{}) }
	f := w.create("foo")
	w.crash(f)
}
