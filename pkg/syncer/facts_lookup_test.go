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

// A failingIndex is a client of the virtual cluster whose lists fail as configured.
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

// An embeddingSyncer embeds the translator as plugins do, without a NameLookup.
type embeddingSyncer struct{ *mapSyncer }

// A lookupSyncer embeds the NameLookup as well.
type lookupSyncer struct {
	*mapSyncer
	translator.NameLookup
}

// withoutAnnotations removes the annotations, as images of earlier versions have none.
// Their virtual object is looked up by index.
func withoutAnnotations(m *corev1.ConfigMap) { m.Annotations = nil }

// TestLookupErrorIsRetried verifies that an event whose lookup fails is retried. Each
// lookup in turn fails, once or for a while.
func TestLookupErrorIsRetried(t *testing.T) {
	for name, tc := range map[string]struct {
		reason string
		syncer func(m *mapSyncer) syncer.Syncer
		fails  func(list int) bool
		atOnce bool
	}{
		"IsManaged": {"The first lookup fails.", withoutLookup, func(n int) bool { return n == 1 }, false},
		"Name": {
			"The lookup of the name fails, and the next one.", withoutLookup, func(n int) bool { return n == 2 || n == 3 },
			false,
		},
		"NameAlone": {"Only the lookup of the name fails.", withLookup, func(n int) bool { return n == 2 }, false},
		"Embedded": {
			"A syncer that embeds a Namespaced has a NameLookup.", withNamespaced, func(n int) bool { return n == 2 }, false,
		},
		"NameOnce": {
			"Only the lookup of the name fails, which cannot be distinguished: it is repeated.", withoutLookup,
			func(n int) bool { return n == 2 }, true,
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, worldOptions{v: []runtime.Object{virtualMap("a")}})
			index := &failingIndex{Client: w.API, fails: tc.fails}
			w.reg.VirtualManager = clientManager{w.reg.VirtualManager, index}
			synctest.Test(t, func(t *testing.T) {
				ctx, stop := context.WithCancel(t.Context())
				core, err := syncer.NewCore(
					w.reg, tc.syncer(newMapSyncer(w.reg)), withRecorder(syncer.Options{}, w.events), w.clock)
				if err != nil {
					t.Fatal(err)
				}
				q := newQueue(t)
				if err := core.StartRetries(ctx, q); err != nil {
					t.Fatal(err)
				}
				core.HandleHostEvent(imageOf("a", withoutAnnotations), false, q)
				if kept := core.FailedEvents() == 1; kept == tc.atOnce || kept == (q.Len() == 1) {
					t.Errorf("%s\nkept %d, enqueued %d", tc.reason, core.FailedEvents(), q.Len())
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

// namespacedMaps embeds a Namespaced, which has a NameLookup.
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

// TestExamplesNeedNoTypeAssertion verifies that the first examples use NewNamespaced,
// without a type assertion or a second embedded interface.
func TestExamplesNeedNoTypeAssertion(t *testing.T) {
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

func withoutLookup(m *mapSyncer) syncer.Syncer { return embeddingSyncer{m} }

func withLookup(m *mapSyncer) syncer.Syncer {
	return lookupSyncer{m, m.NamespacedTranslator.(translator.NameLookup)}
}

// TestLookupErrorDoesNotDelete verifies that a pass whose lookup fails neither deletes
// nor changes the image. The host name may belong to another object: a-x-b in c and a in
// b-x-c have the same one.
func TestLookupErrorDoesNotDelete(t *testing.T) {
	twin := func(m *corev1.ConfigMap) { m.Name, m.Namespace = "a-x-b", "c" }
	image := func(m *corev1.ConfigMap) {
		m.Name, m.Annotations = translate.PhysicalName("a-x-b", "c"), nil
	}
	for name, make := range map[string]func(m *mapSyncer) syncer.Syncer{
		"Embedding": withoutLookup,
		"Looking":   withLookup,
	} {
		t.Run(name, func(t *testing.T) {
			w := newWorld(t, worldOptions{v: []runtime.Object{virtualMap("a", twin)}, p: []runtime.Object{imageOf("a", image)}})
			index := &failingIndex{Client: w.API, fails: func(n int) bool { return n == 2 || n == 3 }}
			w.reg.VirtualManager = clientManager{w.reg.VirtualManager, index}
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
				t.Errorf("after the lookup succeeds: %v", err)
			}
			if len(w.hostNames()) != 1 || len(m.calls) != 0 {
				t.Errorf("left: %v, calls: %v", w.hostNames(), m.calls)
			}
		})
	}
}
