package syncer_test

import (
	"context"
	"os"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/syncer"
	synccontext "github.com/moorage-dev/moorage/pkg/syncer/context"
	"github.com/moorage-dev/moorage/pkg/syncer/translator"
	"github.com/moorage-dev/moorage/pkg/translate"
)

var errIndex = errors.New("the index cannot be read")

// failingIndex is a client of the virtual cluster some of whose lists fail.
type failingIndex struct {
	client.Client

	lists int
	fails func(list int) bool // counted from 1
}

func (c *failingIndex) List(ctx context.Context, list client.ObjectList, opts ...client.ListOption) error {
	c.lists++
	if c.fails(c.lists) {
		return errIndex
	}
	return c.Client.List(ctx, list, opts...)
}

// embedding is a syncer as plugins write them; looking also embeds the look-up.
type embedding struct{ *mapSyncer }

type looking struct {
	*mapSyncer
	translator.NameLookup
}

// unmarked is the image of an older version, whose virtual object is looked up.
func unmarked(m *corev1.ConfigMap) { m.Annotations = nil }

// TestLookupErrorIsRetried: a look-up that fails is no proof that an image leads
// nowhere. Every look-up in turn fails, for a while or once.
func TestLookupErrorIsRetried(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		syncer func(m *mapSyncer) syncer.Syncer
		fails  func(list int) bool
		atOnce bool
	}{
		"IsManaged": {"The first look-up fails.", withoutLookup, func(n int) bool { return n == 1 }, false},
		"Name":      {"The one for the name fails, and the next.", withoutLookup, func(n int) bool { return n == 2 || n == 3 }, false},
		"NameAlone": {"The one for the name fails alone.", withLookup, func(n int) bool { return n == 2 }, false},
		"Embedded":  {"A syncer that embeds a Namespaced looks names up.", withNamespaced, func(n int) bool { return n == 2 }, false},
		"NameOnce":  {"The one for the name fails alone, which cannot be told: it is done again.", withoutLookup, func(n int) bool { return n == 2 }, true},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, setting{v: []runtime.Object{virtualMap("a")}})
			index := &failingIndex{Client: w.API, fails: tc.fails}
			w.reg.VirtualManager = clientOf{w.reg.VirtualManager, index}
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				core, err := syncer.NewCore(w.reg, tc.syncer(newMapSyncer(w.reg)), withRecorder(syncer.Options{}, w.events), w.clock)
				if err != nil {
					t.Fatal(err)
				}
				q := newQueue(t)
				if err := core.StartWatch(ctx, q); err != nil {
					t.Fatal(err)
				}
				core.HostSeen(imageOf("a", unmarked), false, q)
				if kept := core.Kept() == 1; kept == tc.atOnce || kept == (q.Len() == 1) {
					t.Errorf("%s\nkept %d, enqueued %d", tc.reason, core.Kept(), q.Len())
				}
				<-time.After(time.Minute)
				if diff := cmp.Diff([]string{"ns/a"}, enqueued(q)); diff != "" {
					t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
				}
				stop()
				synctest.Wait()
			})
		})
	}
}

// namespacedMaps embeds all that a syncer needs for names.
type namespacedMaps struct {
	translator.Namespaced

	maps *mapSyncer
}

func (s namespacedMaps) SyncDown(ctx *synccontext.SyncContext, vObj client.Object) (ctrl.Result, error) {
	return s.maps.SyncDown(ctx, vObj)
}

func (s namespacedMaps) Sync(ctx *synccontext.SyncContext, pObj, vObj client.Object) (ctrl.Result, error) {
	return s.maps.Sync(ctx, pObj, vObj)
}

func withNamespaced(m *mapSyncer) syncer.Syncer {
	return namespacedMaps{translator.NewNamespaced(m.reg, "configmaps", &corev1.ConfigMap{}, "private"), m}
}

// TestNoAssertion: what every author wants needs neither a type assertion nor two embedded
// interfaces, in the first example of the page and of the package.
func TestNoAssertion(t *testing.T) {
	for _, file := range []string{"../../docs/syncer.md", "example_test.go", "../../examples/syncer/downward.go"} {
		text, err := os.ReadFile(file)
		if err != nil {
			t.Fatal(err)
		}
		for _, no := range []string{".(translator.NameLookup)", "\ttranslator.NameLookup"} {
			if strings.Contains(string(text), no) {
				t.Errorf("%s has %q", file, no)
			}
		}
		if !strings.Contains(string(text), "translator.NewNamespaced(") {
			t.Errorf("%s has no translator.NewNamespaced", file)
		}
	}
}

func withoutLookup(m *mapSyncer) syncer.Syncer { return embedding{m} }

func withLookup(m *mapSyncer) syncer.Syncer {
	return looking{m, m.NamespacedTranslator.(translator.NameLookup)}
}

// TestLookupErrorDeletesNothing: a pass that cannot tell whose an image is neither
// deletes nor changes it. Its name may have been taken by another object: a-x-b in c
// and a in b-x-c have one host name.
func TestLookupErrorDeletesNothing(t *testing.T) {
	twin := func(m *corev1.ConfigMap) { m.Name, m.Namespace = "a-x-b", "c" }
	image := func(m *corev1.ConfigMap) {
		m.Name, m.Annotations = translate.PhysicalName("a-x-b", "c"), nil
	}
	for name, make := range map[string]func(m *mapSyncer) syncer.Syncer{
		"Embedding": withoutLookup,
		"Looking":   withLookup,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, setting{v: []runtime.Object{virtualMap("a", twin)}, p: []runtime.Object{imageOf("a", image)}})
			index := &failingIndex{Client: w.API, fails: func(n int) bool { return n == 2 || n == 3 }}
			w.reg.VirtualManager = clientOf{w.reg.VirtualManager, index}
			m := newMapSyncer(w.reg)
			core, err := syncer.NewCore(w.reg, make(m), withRecorder(syncer.Options{}, w.events), w.clock)
			w.Must(err)
			req := ctrl.Request{}
			req.Namespace, req.Name = "b-x-c", "a"
			if _, err := core.Reconcile(t.Context(), req); !errors.Is(err, errIndex) {
				t.Errorf("got error %v", err)
			}
			index.fails = func(int) bool { return false }
			if _, err := core.Reconcile(t.Context(), req); err != nil {
				t.Errorf("when it can be told: %v", err)
			}
			if len(w.hostNames()) != 1 || len(m.calls) != 0 {
				t.Errorf("left: %v, calls: %v", w.hostNames(), m.calls)
			}
		})
	}
}
