package systemtest

import (
	"math"
	"strings"
	"testing"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/syncer"
	synccontext "github.com/moorage-dev/moorage/pkg/syncer/context"
	"github.com/moorage-dev/moorage/pkg/syncer/translator"
	"github.com/moorage-dev/moorage/pkg/test"
	"github.com/moorage-dev/moorage/pkg/test/wait"
	"github.com/moorage-dev/moorage/pkg/translate"
)

// TestBadInput: what cannot be synced is told in an event, and not tried in a hot
// loop.
func TestBadInput(t *testing.T) {
	cases := map[string]struct {
		reason string
		ready  func(f *fleet) // before the syncer starts
		boat   func(f *fleet) *boat
		event  string
	}{
		"NoNamespace": {
			reason: "The target namespace is missing.",
			ready:  func(f *fleet) { f.target = "missing" },
			boat:   func(f *fleet) *boat { return newBoat(f.ns, "a", 12) },
			event:  `namespaces "missing" not found`,
		},
		"Invalid": {
			reason: "The host does not allow what the tenant does.",
			boat:   func(f *fleet) *boat { return newBoat(f.ns, "a", 0) },
			event:  "spec.length",
		},
		"TooLarge": {
			reason: "With its marks it is larger than the host stores.",
			boat: func(f *fleet) *boat {
				b := newBoat(f.ns, "a", 12)
				b.Object["spec"].(map[string]any)["cargo"] = strings.Repeat("x", 1572864-700)
				return b
			},
			event: "too large",
		},
		"InvalidName": {
			reason: "The name that the syncer chooses is none on the host.",
			ready:  func(f *fleet) { f.syncer = newShouter },
			boat:   func(f *fleet) *boat { return newBoat(f.ns, "a", 12) },
			event:  "metadata.name: Invalid value",
		},
	}
	tenantAllows(t, 0) // before tests are parallel: watches of the kind end
	t.Parallel()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newFleet(t, "bad", syncer.Options{})
			f.alone()
			if tc.ready != nil {
				tc.ready(f)
			}
			f.sail()
			begin := f.count()
			b := tc.boat(f)
			if err := tenantPlane.api.Create(t.Context(), b); err != nil {
				t.Fatal(err)
			}
			wait.Until(t, "the user is told", func() bool { return strings.Contains(f.said(b), tc.event) })
			if len(f.host.Objects()) == 0 {
				t.Error("the host was not asked")
			}
			f.cold(name, tc.reason, begin)
		})
	}
}

// count begins to count requests.
func (f *fleet) count() time.Time {
	f.host.Reset()
	f.tenant.Reset()
	return time.Now()
}

// cold holds what was sent since then to what fits into the time: tries that back off
// from one second on, of one request each to either side, whatever its verb. What
// nobody can do anything about is tried once.
func (f *fleet) cold(name, reason string, begin time.Time) {
	f.Helper()
	wait.Until(f.T, "it is tried again, or not", func() bool { return time.Since(begin) > 8*time.Second })
	requests := append(f.host.Objects(), f.tenant.Objects()...)
	events := f.tenant.Events()
	elapsed := time.Since(begin) // longer than what was counted
	tries := 1 + int(math.Log2(elapsed.Seconds()+1))
	figure("seconds_of_"+name, elapsed.Seconds())
	figure("requests_of_"+name, len(requests))
	figure("events_of_"+name, len(events))
	asked := tries // for the version, before each watch that begins anew: it is tried as rarely
	if len(requests) > tries+1+asked || len(events) > tries+1 {
		f.Errorf("%s\nin %s: %s; events: %s", reason, elapsed, test.SummarizeRequests(requests), test.SummarizeRequests(events))
	}
}

// TestKindGone: a kind that the host loses while it is synced is told, and not tried in
// a hot loop; objects of the tenant stay as they are. When it comes back, after a crash of
// the host's API server, they are synced as before.
func TestKindGone(t *testing.T) {
	t.Parallel()
	host, err := start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = host.Stop() })
	if err := host.api.Create(t.Context(), boatCRD()); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the host serves the kind", func() bool {
		served, err := translate.KindExists(host.config, boatKind)
		return served && err == nil
	})
	// It is there: this waits until clients find it.
	if err := translate.EnsureCRDFromPhysicalCluster(t.Context(), host.config, host.config, boatKind); err != nil {
		t.Fatal(err)
	}
	f := newFleet(t, "gone", syncer.Options{SlowRecheck: 12 * time.Second}) // later than what is counted
	f.alone()
	f.target, f.hostConf = namespace(t, host.api), counted(host.config, f.host)
	f.sail()
	b := newBoat(f.ns, "a", 12)
	if err := tenantPlane.api.Create(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "it is down", func() bool { return len(boats(t, host.api, f.target)) == 1 })
	if err := host.api.Delete(t.Context(), boatCRD()); err != nil {
		t.Fatal(err)
	}
	// The API server serves a kind for a moment after its definition is gone.
	wait.Until(t, "the kind is gone", func() bool {
		return !exists(t, host.api, boatCRD()) && apierrors.IsNotFound(host.api.List(t.Context(), boatList(), client.InNamespace(f.target)))
	})
	// Whatever came of its last moments, this boat is looked at after it.
	b = newBoat(f.ns, "late", 12)
	begin := f.count()
	if err := tenantPlane.api.Create(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the user is told", func() bool { return strings.Contains(f.said(b), "could not find the requested resource") })
	f.host.Reset() // passes over the other boat have ended in the same
	f.cold("KindGone", "A kind that is gone is told once.", begin)
	if n := len(boats(t, tenantPlane.api, f.ns)); n != 2 {
		t.Errorf("%d boats of the tenant are left, want 2", n)
	}

	if err := host.Kill(); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the host is back", func() bool { return host.Restart(t.Context()) == nil })
	wait.Until(t, "so is the kind", func() bool { return host.api.Create(t.Context(), boatCRD()) == nil })
	wait.Until(t, "both boats are down", func() bool {
		list := boatList()
		return host.api.List(t.Context(), list, client.InNamespace(f.target)) == nil && len(list.Items) == 2
	})
	image := newBoat(f.target, f.reg.Names.PhysicalName("late", f.ns), 0)
	if err := host.api.Patch(t.Context(), image, merge(`{"spec":{"length":1}}`)); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the host is watched again", func() bool {
		length, _, _ := unstructured.NestedInt64(image.Object, "spec", "length")
		return exists(t, host.api, image) && length == 12
	})
}

// tenantAllows relaxes the tenant's copy of the kind.
func tenantAllows(t *testing.T, length float64) {
	t.Helper()
	if err := translate.EnsureCRDFromPhysicalCluster(t.Context(), hostPlane.config, tenantPlane.config, boatKind); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the kind is changed", func() bool { // while its conditions are
		crd := boatCRD()
		if !exists(t, tenantPlane.api, crd) {
			t.Fatal("the kind was not copied")
		}
		properties := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties
		relaxed := properties["length"]
		relaxed.Minimum = &length
		properties["length"] = relaxed
		return tenantPlane.api.Update(t.Context(), crd) == nil
	})
	probe := newBoat("default", "probe", 0)
	wait.Until(t, "the tenant allows it", func() bool { return tenantPlane.api.Create(t.Context(), probe) == nil })
	if err := tenantPlane.api.Delete(t.Context(), probe); err != nil {
		t.Fatal(err)
	}
}

// said returns the warnings about a boat.
func (f *fleet) said(b *boat) string {
	events := &corev1.EventList{}
	if err := tenantPlane.api.List(f.Context(), events, client.InNamespace(f.ns)); err != nil {
		f.Fatal(err)
	}
	var all []string
	for _, e := range events.Items {
		if e.InvolvedObject.Name == b.GetName() && e.Reason == string(syncer.ReasonSyncError) {
			all = append(all, e.Message)
		}
	}
	return strings.Join(all, "\n")
}

// shouter is a syncer of boats whose host names are none.
type shouter struct{ boatSyncer }

func newShouter(ctx *synccontext.RegisterContext, o syncer.Options) syncer.Syncer {
	return syncer.FromTyped(emptyBoat(), shouter{boatSyncer{translator.NewNamespacedTranslator(ctx, "boats", emptyBoat()), o}})
}

func (s shouter) VirtualToPhysical(req types.NamespacedName, vObj client.Object) types.NamespacedName {
	host := s.boatSyncer.VirtualToPhysical(req, vObj)
	host.Name = strings.ToUpper(host.Name)
	return host
}

func (s shouter) SyncDown(ctx *synccontext.SyncContext, vObj *boat) (ctrl.Result, error) {
	pObj := s.TranslateMetadata(vObj).(*boat)
	pObj.SetName(strings.ToUpper(pObj.GetName()))
	return s.SyncDownCreate(ctx, vObj, pObj)
}

// kindless is a syncer of a kind that only one side has, or none.
type kindless struct {
	translator.NamespacedTranslator
}

func (kindless) SyncDown(*synccontext.SyncContext, *boat) (ctrl.Result, error) {
	return ctrl.Result{}, nil
}

func (kindless) Sync(_ *synccontext.SyncContext, _, _ *boat) (ctrl.Result, error) {
	return ctrl.Result{}, nil
}

// TestKindMissing: a kind that one side does not serve ends the runner with an error
// that says which.
func TestKindMissing(t *testing.T) {
	for side, tc := range map[string]struct {
		has  *plane
		kind string
	}{"physical": {tenantPlane, "Raft"}, "virtual": {hostPlane, "Dinghy"}} {
		t.Run(side, func(t *testing.T) {
			kind := schema.GroupVersionKind{Group: boatKind.Group, Version: "v1", Kind: tc.kind}
			serve(t, tc.has, kind)
			f := newFleet(t, "kindless", syncer.Options{})
			reg, err := syncer.NewRegisterContext(t.Context(), syncer.RegisterOptions{
				Virtual: f.tenantConf, Physical: f.hostConf, Scheme: scheme, Name: f.name, TargetNamespace: f.target,
			})
			if err != nil {
				t.Fatal(err)
			}
			empty := &boat{}
			empty.SetGroupVersionKind(kind)
			r := syncer.NewRunner(reg)
			if err := r.Register(syncer.FromTyped(empty, kindless{translator.NewNamespacedTranslator(reg, strings.ToLower(tc.kind), empty)})); err != nil {
				t.Fatal(err)
			}
			err = r.Start(t.Context())
			if !errors.Is(err, translate.ErrKindNotServed) || !strings.Contains(err.Error(), tc.kind+" in the "+side+" cluster") {
				t.Errorf("got %v", err)
			}
			if err := r.Register(raftless{}); !errors.Is(err, syncer.ErrStarted) {
				t.Errorf("registered after the start: %v", err)
			}
			if err := r.Start(t.Context()); !errors.Is(err, syncer.ErrStarted) {
				t.Errorf("started twice: %v", err)
			}
		})
	}
}

// serve makes a control plane serve a kind.
func serve(t *testing.T, p *plane, kind schema.GroupVersionKind) {
	t.Helper()
	name := strings.ToLower(kind.Kind)
	crd := boatCRD()
	crd.ObjectMeta = metav1.ObjectMeta{Name: name + "s." + kind.Group}
	crd.Spec.Names = apiextensionsv1.CustomResourceDefinitionNames{Plural: name + "s", Singular: name, Kind: kind.Kind, ListKind: kind.Kind + "List"}
	crd.Spec.Conversion = nil
	if err := p.api.Create(t.Context(), crd); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the kind is served", func() bool {
		served, err := translate.KindExists(p.config, kind)
		return served && err == nil
	})
}

type raftless struct{}

func (raftless) Name() string { return "raftless" }
