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

// TestBadInput verifies that an object that cannot be synced causes a warning event and
// is retried with backoff.
func TestBadInput(t *testing.T) {
	cases := map[string]struct {
		reason string
		ready  func(f *testSyncer) // before the syncer starts
		widget func(f *testSyncer) *widget
		event  string
	}{
		"NoNamespace": {
			reason: "The target namespace does not exist.",
			ready:  func(f *testSyncer) { f.target = "missing" },
			widget: func(f *testSyncer) *widget { return newWidget(f.ns, "a", 12) },
			event:  `namespaces "missing" not found`,
		},
		"Invalid": {
			reason: "The host rejects an object that the tenant accepts.",
			widget: func(f *testSyncer) *widget { return newWidget(f.ns, "a", 0) },
			event:  "spec.length",
		},
		"TooLarge": {
			reason: "With its ownership annotations the object exceeds the size limit of the host.",
			widget: func(f *testSyncer) *widget {
				b := newWidget(f.ns, "a", 12)
				b.Object["spec"].(map[string]any)["payload"] = strings.Repeat("x", 1572864-700)
				return b
			},
			event: "too large",
		},
		"InvalidName": {
			reason: "The translated name is invalid.",
			ready:  func(f *testSyncer) { f.syncer = newInvalidNameSyncer },
			widget: func(f *testSyncer) *widget { return newWidget(f.ns, "a", 12) },
			event:  "metadata.name: Invalid value",
		},
	}
	tenantAllows(t, 0) // before tests are parallel: watches of the kind end
	t.Parallel()
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			f := newTestSyncer(t, "bad", syncer.Options{})
			f.limitToNamespace()
			if tc.ready != nil {
				tc.ready(f)
			}
			f.start()
			begin := f.startCounting()
			b := tc.widget(f)
			if err := tenantPlane.api.Create(t.Context(), b); err != nil {
				t.Fatal(err)
			}
			wait.Until(t, "the error is reported", func() bool { return strings.Contains(f.warnings(b), tc.event) })
			if len(f.host.Objects()) == 0 {
				t.Error("no request was sent to the host")
			}
			f.checkBackoff(name, tc.reason, begin)
		})
	}
}

// startCounting resets the request counters and returns the time.
func (f *testSyncer) startCounting() time.Time {
	f.host.Reset()
	f.tenant.Reset()
	return time.Now()
}

// checkBackoff checks that the requests since begin fit a backoff from one second on,
// with one request per try and cluster. An error that persists until the object changes
// is tried once.
func (f *testSyncer) checkBackoff(name, reason string, begin time.Time) {
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
		f.Errorf(
			"%s\nin %s: %s; events: %s", reason, elapsed, test.SummarizeRequests(requests), test.SummarizeRequests(events))
	}
}

// TestKindGone verifies that a kind that the host loses is reported and retried with
// backoff, and that the objects of the tenant stay. When the kind is back, after a crash
// of the host's API server, they are synced again.
func TestKindGone(t *testing.T) {
	t.Parallel()
	host, err := start(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = host.Stop() })
	if err := host.api.Create(t.Context(), widgetCRD()); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the host serves the kind", func() bool {
		served, err := translate.KindExists(host.config, widgetKind)
		return served && err == nil
	})
	// It is there: this waits until clients find it.
	if err := translate.EnsureCRDFromPhysicalCluster(t.Context(), host.config, host.config, widgetKind); err != nil {
		t.Fatal(err)
	}
	f := newTestSyncer(t, "gone", syncer.Options{SlowRecheck: 12 * time.Second}) // later than what is counted
	f.limitToNamespace()
	f.target, f.hostConf = namespace(t, host.api), counted(host.config, f.host)
	f.start()
	b := newWidget(f.ns, "a", 12)
	if err := tenantPlane.api.Create(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "it is down", func() bool { return len(widgets(t, host.api, f.target)) == 1 })
	if err := host.api.Delete(t.Context(), widgetCRD()); err != nil {
		t.Fatal(err)
	}
	// The API server serves a kind for a moment after its definition is gone.
	wait.Until(t, "the kind is gone", func() bool {
		return !exists(t, host.api, widgetCRD()) &&
			apierrors.IsNotFound(host.api.List(t.Context(), widgetList(), client.InNamespace(f.target)))
	})
	// This widget is reconciled after the kind is gone.
	b = newWidget(f.ns, "late", 12)
	begin := f.startCounting()
	if err := tenantPlane.api.Create(t.Context(), b); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the error is reported", func() bool {
		return strings.Contains(f.warnings(b), "could not find the requested resource")
	})
	f.host.Reset() // passes over the other widget have ended in the same
	f.checkBackoff("KindGone", "A kind that is gone is reported once.", begin)
	if n := len(widgets(t, tenantPlane.api, f.ns)); n != 2 {
		t.Errorf("%d widgets of the tenant are left, want 2", n)
	}

	if err := host.Kill(); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the host is back", func() bool { return host.Restart(t.Context()) == nil })
	wait.Until(t, "so is the kind", func() bool { return host.api.Create(t.Context(), widgetCRD()) == nil })
	wait.Until(t, "both widgets are down", func() bool {
		list := widgetList()
		return host.api.List(t.Context(), list, client.InNamespace(f.target)) == nil && len(list.Items) == 2
	})
	image := newWidget(f.target, f.reg.Names.PhysicalName("late", f.ns), 0)
	if err := host.api.Patch(t.Context(), image, merge(`{"spec":{"length":1}}`)); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the host is watched again", func() bool {
		length, _, _ := unstructured.NestedInt64(image.Object, "spec", "length")
		return exists(t, host.api, image) && length == 12
	})
}

// tenantAllows relaxes the minimum of a field in the tenant's copy of the CRD.
func tenantAllows(t *testing.T, length float64) {
	t.Helper()
	if err := translate.EnsureCRDFromPhysicalCluster(
		t.Context(), hostPlane.config, tenantPlane.config, widgetKind); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the kind is changed", func() bool { // while its conditions are
		crd := widgetCRD()
		if !exists(t, tenantPlane.api, crd) {
			t.Fatal("the kind was not copied")
		}
		properties := crd.Spec.Versions[0].Schema.OpenAPIV3Schema.Properties["spec"].Properties
		relaxed := properties["length"]
		relaxed.Minimum = &length
		properties["length"] = relaxed
		return tenantPlane.api.Update(t.Context(), crd) == nil
	})
	probe := newWidget("default", "probe", 0)
	wait.Until(t, "the tenant allows it", func() bool { return tenantPlane.api.Create(t.Context(), probe) == nil })
	if err := tenantPlane.api.Delete(t.Context(), probe); err != nil {
		t.Fatal(err)
	}
}

// warnings returns the warning events of a widget.
func (f *testSyncer) warnings(b *widget) string {
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

// An invalidNameSyncer translates names to invalid host names.
type invalidNameSyncer struct{ widgetSyncer }

func newInvalidNameSyncer(ctx *synccontext.RegisterContext, o syncer.Options) syncer.Syncer {
	return syncer.FromTyped(emptyWidget(), invalidNameSyncer{
		widgetSyncer{translator.NewNamespacedTranslator(ctx, "widgets", emptyWidget()), o},
	})
}

func (s invalidNameSyncer) VirtualToPhysical(req types.NamespacedName, vObj client.Object) types.NamespacedName {
	host := s.widgetSyncer.VirtualToPhysical(req, vObj)
	host.Name = strings.ToUpper(host.Name)
	return host
}

func (s invalidNameSyncer) SyncDown(ctx *synccontext.SyncContext, vObj *widget) (ctrl.Result, error) {
	pObj := s.TranslateMetadata(vObj).(*widget)
	pObj.SetName(strings.ToUpper(pObj.GetName()))
	return s.SyncDownCreate(ctx, vObj, pObj)
}

// A noopSyncer does nothing, for kinds that one cluster does not serve.
type noopSyncer struct {
	translator.NamespacedTranslator
}

func (noopSyncer) SyncDown(*synccontext.SyncContext, *widget) (ctrl.Result, error) {
	return ctrl.Result{}, nil
}

func (noopSyncer) Sync(_ *synccontext.SyncContext, _, _ *widget) (ctrl.Result, error) {
	return ctrl.Result{}, nil
}

// TestKindMissing verifies that a kind that one cluster does not serve ends the Runner
// with an error that names the cluster.
func TestKindMissing(t *testing.T) {
	for side, tc := range map[string]struct {
		has  *controlPlane
		kind string
	}{"physical": {tenantPlane, "TenantOnly"}, "virtual": {hostPlane, "HostOnly"}} {
		t.Run(side, func(t *testing.T) {
			kind := schema.GroupVersionKind{Group: widgetKind.Group, Version: "v1", Kind: tc.kind}
			serve(t, tc.has, kind)
			f := newTestSyncer(t, "kindless", syncer.Options{})
			reg, err := syncer.NewRegisterContext(t.Context(), syncer.RegisterOptions{
				Virtual: f.tenantConf, Physical: f.hostConf, Scheme: scheme, Name: f.name, TargetNamespace: f.target,
			})
			if err != nil {
				t.Fatal(err)
			}
			empty := &widget{}
			empty.SetGroupVersionKind(kind)
			r := syncer.NewRunner(reg)
			if err := r.Register(syncer.FromTyped(empty, noopSyncer{
				translator.NewNamespacedTranslator(reg, strings.ToLower(tc.kind), empty),
			})); err != nil {
				t.Fatal(err)
			}
			err = r.Start(t.Context())
			if !errors.Is(err, translate.ErrKindNotServed) ||
				!strings.Contains(err.Error(), tc.kind+" in the "+side+" cluster") {
				t.Errorf("got %v", err)
			}
			if err := r.Register(namedItem{}); !errors.Is(err, syncer.ErrStarted) {
				t.Errorf("registered after the start: %v", err)
			}
			if err := r.Start(t.Context()); !errors.Is(err, syncer.ErrStarted) {
				t.Errorf("started twice: %v", err)
			}
		})
	}
}

// serve installs a CRD and waits until the kind is served.
func serve(t *testing.T, p *controlPlane, kind schema.GroupVersionKind) {
	t.Helper()
	name := strings.ToLower(kind.Kind)
	crd := widgetCRD()
	crd.ObjectMeta = metav1.ObjectMeta{Name: name + "s." + kind.Group}
	crd.Spec.Names = apiextensionsv1.CustomResourceDefinitionNames{
		Plural: name + "s", Singular: name, Kind: kind.Kind, ListKind: kind.Kind + "List",
	}
	crd.Spec.Conversion = nil
	if err := p.api.Create(t.Context(), crd); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the kind is served", func() bool {
		served, err := translate.KindExists(p.config, kind)
		return served && err == nil
	})
}

type namedItem struct{}

func (namedItem) Name() string { return "namedItem" }
