package providerconfig

import (
	"slices"
	"testing"
)

const theirFinalizer = "in-use.crossplane.io"

func retiring(t *testing.T) (*fixture, *Tenant) {
	t.Helper()
	w := tenant("a", "main")
	w.Finalizers = []string{theirFinalizer}
	p := newFixture(t, w)
	p.rs["Tenant"].setRetiredFinalizers(p, []string{theirFinalizer})

	return p, w
}

// TestRetiredFinalizersGo: what a predecessor left on a configuration goes when ours is there, and is not asked about
// again.
func TestRetiredFinalizersGo(t *testing.T) {
	p, w := retiring(t)
	p.use(bucket("a", "one", "", "main"))
	p.pass(w)
	if p.load(w); !slices.Equal(w.Finalizers, []string{FinalizerName}) {
		t.Errorf("finalizers %v", w.Finalizers)
	}
	p.writes = nil
	p.pass(w)
	p.wantWrites("nothing has changed")
}

// TestRetiredFinalizersGoAfterOurs: our own is stored first: there is no moment at which nothing keeps a
// configuration in use.
func TestRetiredFinalizersGoAfterOurs(t *testing.T) {
	p, w := retiring(t)
	n := 0
	p.before = func() error {
		if n++; n > 1 {
			return errBoom
		}

		return nil
	}
	if _, err := p.try(w); err == nil {
		t.Error("the second write failed, and nobody is told")
	}
	p.before = nil
	if p.load(w); !slices.Equal(w.Finalizers, []string{theirFinalizer, FinalizerName}) {
		t.Errorf("finalizers %v", w.Finalizers)
	}
	p.pass(w)
	if p.load(w); !slices.Equal(w.Finalizers, []string{FinalizerName}) {
		t.Errorf("finalizers %v", w.Finalizers)
	}
}

// TestRetiredFinalizersKeepWhatWasDeletedBefore: one that was deleted while only the predecessor kept it stays as long
// as it is used, and then goes.
func TestRetiredFinalizersKeepWhatWasDeletedBefore(t *testing.T) {
	p, w := retiring(t)
	user := bucket("a", "one", "", "main")
	p.use(user)
	p.remove(w)
	p.pass(w)
	if !p.load(w) {
		t.Fatal("a configuration that is in use is gone")
	}
	p.sink(user)
	p.pass(w)
	if p.load(w) {
		t.Errorf("nobody uses it, and it stays with the finalizers %v", w.Finalizers)
	}
}
