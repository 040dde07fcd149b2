package serviceprovider

import (
	"context"
	"testing"

	"sigs.k8s.io/controller-runtime/pkg/controller"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/source"
)

// countingAccessWatcher is an access provider that counts the starts of its source.
type countingAccessWatcher struct {
	*fakeProvider

	started int
}

func (s *countingAccessWatcher) AccessSources() []source.Source {
	return []source.Source{source.Func(func(context.Context, queue) error {
		s.started++

		return nil
	})}
}

// TestFailedSetupStartsNoWatch verifies that a manager starts no source and no cache of a
// controller whose setup failed.
func TestFailedSetupStartsNoWatch(t *testing.T) {
	for name, tc := range map[string]struct {
		secrets string
		fails   bool
		want    int
	}{
		"whole":   {"", false, 1},
		"partial": {"secrets", true, 0}, // the platform cluster has no cache
	} {
		w := newFakeWorld(t)
		s := &countingAccessWatcher{fakeProvider: w.gate}
		w.build = func(b *APIReconcilerBuilder[*Foo, *FooConfig]) {
			b.ClusterAccessReconciler(s).Reconciler(&wantedWatcher{}).SecretNamespace(tc.secrets).
				ControllerOptions(controller.Options{SkipNameValidation: new(true), EnableWarmup: new(true)})
		}
		w.restart()
		m := newFakeManager(t)
		if err := w.r.SetupWithManager(m, "partial", nil); (err != nil) != tc.fails {
			t.Errorf("%s: got %v", name, err)
		}
		if len(m.added) != 1 {
			t.Fatalf("%s: want the controller alone, got %v", name, m.added)
		}
		w.Must(m.added[0].(interface {
			Warmup(ctx context.Context) error
		}).Warmup(t.Context()))
		if s.started != tc.want {
			t.Errorf("%s: want %d sources of access started, got %d", name, tc.want, s.started)
		}
	}
}

// TestPlatformWithoutACache verifies that the platform needs no cache if nothing is watched there.
func TestPlatformWithoutACache(t *testing.T) {
	for name, build := range map[string]func(b *APIReconcilerBuilder[*Foo, *FooConfig]){
		"nobody cares": func(b *APIReconcilerBuilder[*Foo, *FooConfig]) {
			b.SecretNamespace("a").ConfigMapNamespace("b")
		},
		"nobody says where": func(b *APIReconcilerBuilder[*Foo, *FooConfig]) { b.Reconciler(&wantedWatcher{}) },
		"nothing at all":    func(*APIReconcilerBuilder[*Foo, *FooConfig]) {},
		"a mapper, no place": func(b *APIReconcilerBuilder[*Foo, *FooConfig]) {
			b.Reconciler(&secretMapper{}).ConfigMapNamespace("")
		},
	} {
		w := newFakeWorld(t)
		w.build = build
		w.restart()
		m := newFakeManager(t)
		m.refuses = func(r manager.Runnable) error { t.Errorf("%s: added %v", name, r); return nil }
		if sources, err := w.r.referenceSources(m); err != nil || len(sources) != 0 {
			t.Errorf("%s: got %d sources, %v", name, len(sources), err)
		}
	}
}
