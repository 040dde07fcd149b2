package systemtest

import (
	"fmt"
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/metrics"

	clustersv1alpha1 "github.com/moorage-dev/moorage/apis/openmcp/clusters/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/serviceprovider"
	"github.com/moorage-dev/moorage/pkg/serviceprovider/clusteraccess"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// The stories that the runtime before this one was tested with, by their numbers there:
// here they run on real API servers, with both kinds of access provider, and with a
// configuration that is watched or comes over a channel.
var stories = []struct {
	name string
	tell func(e *estate)
}{
	{"1_created", created},
	{"2_creation_fails", creationFails},
	{"3_deleted_while_access_goes", deletedWhileAccessGoes},
	{"4_deletion_fails", deletionFails},
	{"5_not_found_and_7_ignored", ignored},
	{"7_reconcile_on_request", onRequest},
	{"8_access_fails", accessFails},
	{"6_no_config", noConfig}, // the last one: it takes the configuration away
}

func TestUpstreamStories(t *testing.T) {
	for name, change := range map[string]func(e *estate){
		"simple":   func(*estate) {},
		"advanced": func(e *estate) { e.advanced = true },
		"channel":  func(e *estate) { e.channel = true },
	} {
		t.Run(name, func(t *testing.T) {
			e := newEstate(t, "stories-"+name)
			change(e)
			e.workload = true
			e.grant()
			e.start()
			for _, s := range stories {
				t.Run(s.name, func(t *testing.T) {
					e.T = t
					s.tell(e)
				})
			}
			e.T = t
		})
	}
}

// shows waits for the reason of Ready, and compares the phase.
func (e *estate) shows(g *Garden, phase, reason string) {
	e.Helper()
	e.says(g, serviceprovider.ServiceProviderConditionReady, reason)
	if g.Status.Phase != phase {
		e.Errorf("want phase %s, got %+v", phase, g.Status)
	}
}

// ready creates a garden and its control plane, and waits until it can be used.
func (e *estate) ready(name string) *Garden {
	e.Helper()
	e.plane(name)
	g := e.create(name)
	e.shows(g, serviceprovider.StatusPhaseReady, serviceprovider.ReasonReconcileSuccess)

	return g
}

func (e *estate) vanishes(o client.Object) {
	e.Helper()
	wait.Until(e.T, o.GetName()+" is gone", func() bool { return gone(e.T, onboarding.api, o) })
}

func merge(t *testing.T, c client.Client, o client.Object, body string) {
	t.Helper()
	if err := c.Patch(t.Context(), o, client.RawPatch("application/merge-patch+json", []byte(body))); err != nil {
		t.Fatal(err)
	}
}

// created: the domain gets the object, the configuration and the keys of both Secrets, and is
// called again at the poll interval.
func created(e *estate) {
	g := e.ready("created")
	e.grows(g, "roses")
	before := e.gardener.called("CreateOrUpdate", g.Name)
	wait.Until(e.T, "it is looked at again",
		func() bool { return e.gardener.called("CreateOrUpdate", g.Name) >= before+2 })
	e.gardener.mu.Lock()
	given := e.gardener.given[g.Name]
	e.gardener.mu.Unlock()
	for id, key := range map[string]client.ObjectKey{
		serviceprovider.ClusterMCP:      given.MCPAccessSecretKey,
		serviceprovider.ClusterWorkload: given.WorkloadAccessSecretKey,
	} {
		secret := &corev1.Secret{}
		if err := platform.api.Get(e.Context(), key, secret); err != nil || len(secret.Data["kubeconfig"]) == 0 {
			e.Errorf("the Secret %s of cluster %s holds no kubeconfig: %v", key, id, err)
		}
	}
	if given.WorkloadCluster == nil || given.MCPAccessSecretKey == given.WorkloadAccessSecretKey {
		e.Errorf("got %+v", given)
	}
}

func creationFails(e *estate) {
	e.gardener.fails.Store("fails", true)
	e.plane("fails")
	g := e.create("fails")
	e.shows(g, serviceprovider.StatusPhaseProgressing, "Planting")
	wait.Until(e.T, "it is tried again", func() bool { return e.gardener.called("CreateOrUpdate", g.Name) > 1 })
	e.gardener.fails.Delete("fails")
	e.shows(g, serviceprovider.StatusPhaseReady, serviceprovider.ReasonReconcileSuccess)
}

func deletedWhileAccessGoes(e *estate) {
	g := e.ready("pending")
	ar := e.request(g)
	if gone(e.T, platform.api, ar) {
		e.Fatal("there is no AccessRequest")
	}
	base := ar.DeepCopy()
	ar.Finalizers = append(ar.Finalizers, "example.org/platform")
	if err := platform.api.Patch(e.Context(), ar, client.MergeFrom(base)); err != nil {
		e.Fatal(err)
	}
	e.delete(onboarding.api, g)
	wait.Until(e.T, "the platform is waited for", func() bool {
		return !gone(e.T, platform.api, ar) && len(ar.Finalizers) == 2 && ar.DeletionTimestamp != nil
	})
	e.shows(g, serviceprovider.StatusPhaseTerminating, serviceprovider.ReasonTerminating)
	base = ar.DeepCopy()
	ar.Finalizers = []string{clusteraccess.Finalizer}
	if err := platform.api.Patch(e.Context(), ar, client.MergeFrom(base)); err != nil {
		e.Fatal(err)
	}
	e.vanishes(g)
	if n := e.gardener.called("Delete", g.Name); n != 1 {
		e.Errorf("want one call, since access was being taken away after it, got %d", n)
	}
}

func deletionFails(e *estate) {
	g := e.ready("stays")
	e.gardener.fails.Store("stays", true)
	e.delete(onboarding.api, g)
	e.shows(g, serviceprovider.StatusPhaseTerminating, serviceprovider.ReasonTerminating)
	wait.Until(e.T, "it is tried again", func() bool { return e.gardener.called("Delete", g.Name) > 1 })
	e.gardener.fails.Delete("stays")
	e.vanishes(g)
}

// nothings counts the passes in which nothing was to be done.
func (e *estate) nothings() (n float64) {
	e.Helper()
	families, err := metrics.Registry.Gather()
	if err != nil {
		e.Fatal(err)
	}
	for _, f := range families {
		for _, m := range f.GetMetric() {
			labels := map[string]string{}
			for _, l := range m.GetLabel() {
				labels[l.GetName()] = l.GetValue()
			}
			if f.GetName() == "moorage_serviceprovider_passes_total" && labels["controller"] == e.ns &&
				labels["outcome"] == "NothingToDo" {
				n += m.GetCounter().GetValue()
			}
		}
	}

	return n
}

func ignored(e *estate) {
	e.plane("ignored")
	g := &Garden{ObjectMeta: metav1.ObjectMeta{
		Namespace: e.ns, Name: "ignored", Annotations: map[string]string{
			serviceprovider.OperationAnnotation: serviceprovider.OperationIgnore,
		},
	}}
	if err := onboarding.api.Create(e.Context(), g); err != nil {
		e.Fatal(err)
	}
	e.says(g, serviceprovider.ConditionSynced, serviceprovider.ReasonReconcilePaused)
	if len(g.Finalizers) != 0 || g.Status.Phase != "" || !gone(e.T, platform.api, e.request(g)) {
		e.Errorf("want it left alone, got %+v", g)
	}
	before := e.nothings()
	e.delete(onboarding.api, g)
	wait.Until(e.T, "somebody has looked for it", func() bool { return e.nothings() > before })
	if e.gardener.called("CreateOrUpdate", g.Name)+e.gardener.called("Delete", g.Name) != 0 ||
		!gone(e.T, onboarding.api, g) {
		e.Error("the domain was called, or the object is still there")
	}
}

func onRequest(e *estate) {
	g := e.ready("asked")
	merge(e.T, onboarding.api, g, `{"metadata":{"annotations":{"`+serviceprovider.OperationAnnotation+`":"ignore"}}}`)
	e.says(g, serviceprovider.ConditionSynced, serviceprovider.ReasonReconcilePaused)
	before := e.gardener.called("CreateOrUpdate", g.Name)
	merge(e.T, onboarding.api, g, `{"metadata":{"annotations":{"`+serviceprovider.OperationAnnotation+
		`":"reconcile"}}}`)
	wait.Until(e.T, "it is done, and the request taken off", func() bool {
		_ = gone(e.T, onboarding.api, g)

		return e.gardener.called("CreateOrUpdate", g.Name) > before &&
			g.Annotations[serviceprovider.OperationAnnotation] == ""
	})
}

// accessFails: a request of the name has another owner.
func accessFails(e *estate) {
	cr := e.plane("taken")
	theirs := e.request(&Garden{ObjectMeta: metav1.ObjectMeta{Namespace: e.ns, Name: "taken"}})
	theirs.Spec.RequestRef = &clustersv1alpha1.ObjectReference{Namespace: cr.Namespace, Name: cr.Name}
	if err := platform.api.Create(e.Context(), theirs); err != nil {
		e.Fatal(err)
	}
	g := e.create("taken")
	e.shows(g, serviceprovider.StatusPhaseProgressing, serviceprovider.ReasonReconcileError)
	e.delete(onboarding.api, g)
	e.vanishes(g) // there was never access to both clusters
	if gone(e.T, platform.api, theirs) || theirs.DeletionTimestamp != nil {
		e.Error("the request of somebody else was deleted")
	}
	e.delete(platform.api, theirs)
	if e.gardener.called("CreateOrUpdate", g.Name)+e.gardener.called("Delete", g.Name) != 0 {
		e.Error("the domain was called without access")
	}
}

// noConfig: a garden that is ready keeps being served until the configuration goes, which
// takes a while; then, and when it is gone, nothing new is begun, and a deletion goes on with
// the last one.
func noConfig(e *estate) {
	old := e.ready("old")
	merge(e.T, platform.api, e.config, `{"metadata":{"finalizers":["example.org/kept"]}}`)
	e.delete(platform.api, e.config)
	// The provider knows by now: it hears of a configuration and of gardens from two servers.
	e.shows(old, serviceprovider.StatusPhaseProgressing, serviceprovider.ReasonReconcileError)
	e.withheld("while-it-goes", 0)
	if gone(e.T, platform.api, e.config) || e.config.DeletionTimestamp == nil {
		e.Fatalf("the configuration is not being deleted: %+v", e.config)
	}
	before := len(e.sent.from(0))
	merge(e.T, platform.api, e.config, `{"metadata":{"finalizers":null}}`)
	wait.Until(e.T, "the configuration is gone", func() bool { return gone(e.T, platform.api, e.config) })
	e.withheld("new", before)
	if slices.Contains(e.sent.from(before), true) {
		e.Error("a configuration was sent when it was gone")
	}
	e.shows(old, serviceprovider.StatusPhaseProgressing, serviceprovider.ReasonReconcileError)
	e.delete(onboarding.api, old)
	e.vanishes(old)
	if e.gardener.called("Delete", old.Name) == 0 {
		e.Error("the domain was not called for what it had made")
	}
}

// withheld creates a garden when there is no configuration: nothing is begun. If it comes
// over a channel, that there is none has been sent by then, after what was sent before.
func (e *estate) withheld(name string, before int) {
	e.Helper()
	if e.channel {
		wait.Until(e.T, "nothing is sent", func() bool {
			sent := e.sent.from(before)

			return len(sent) > 0 && !sent[len(sent)-1]
		})
	}
	e.plane(name)
	g := e.create(name)
	e.shows(g, serviceprovider.StatusPhaseProgressing, serviceprovider.ReasonReconcileError)
	if e.gardener.called("CreateOrUpdate", g.Name) != 0 || !gone(e.T, platform.api, e.request(g)) {
		e.Error("something was begun without a configuration")
	}
}

// TestUpstreamMapSecretToRequests: a Secret and a ConfigMap of the platform that all gardens
// refer to.
func TestUpstreamMapSecretToRequests(t *testing.T) {
	e := newEstate(t, "references")
	e.references = true
	e.config.Poll.Duration = 0 // nothing else lets a garden be looked at
	if err := platform.api.Update(t.Context(), e.config); err != nil {
		t.Fatal(err)
	}
	if err := platform.api.Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: e.ns}}); err != nil {
		t.Fatal(err)
	}
	e.grant()
	e.start()
	e.ready("a")
	e.ready("b")
	for kind, made := range referenced {
		for round := 1; ; round++ {
			before := len(e.gardener.log.from(0))
			for _, name := range []string{fmt.Sprint("weeds-", round), fmt.Sprint("seeds-", round)} {
				if err := platform.api.Create(t.Context(),
					made(metav1.ObjectMeta{Namespace: e.ns, Name: name})); err != nil {
					t.Fatal(err)
				}
			}
			want := []string{kind + fmt.Sprint(" weeds-", round), kind + fmt.Sprint(" seeds-", round), "a", "b"}
			var got []string
			wait.Until(t, "all gardens are looked at", func() bool {
				got = e.gardener.log.from(before)
				seeds := slices.Index(got, want[1])

				return seeds >= 0 && slices.Contains(got[seeds:], "a") && slices.Contains(got[seeds:], "b")
			})
			slices.Sort(got[len(got)-2:])
			diff := cmp.Diff(want, got)
			if diff == "" {
				break
			}
			// What the platform does when access is new may let a garden be looked at as well.
			if round == 5 {
				t.Fatalf("nobody is looked at for weeds, everybody once for seeds: -want +got:\n%s", diff)
			}
		}
	}
}

// Referenced are the kinds that gardens refer to.
var referenced = map[string]func(metav1.ObjectMeta) client.Object{
	"Secret":    func(meta metav1.ObjectMeta) client.Object { return &corev1.Secret{ObjectMeta: meta} },
	"ConfigMap": func(meta metav1.ObjectMeta) client.Object { return &corev1.ConfigMap{ObjectMeta: meta} },
}

// TestUpstreamMapSecretWithoutConfiguration: without a configuration the domain is called
// with nil for it; without objects there are no requests.
func TestUpstreamMapSecretWithoutConfiguration(t *testing.T) {
	e := newEstate(t, "none")
	e.references = true
	e.delete(platform.api, e.config)
	if err := platform.api.Create(t.Context(),
		&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: e.ns}}); err != nil {
		t.Fatal(err)
	}
	e.start()
	for kind, made := range referenced {
		seeds := made(metav1.ObjectMeta{Namespace: e.ns, Name: "seeds"})
		if err := platform.api.Create(t.Context(), seeds); err != nil {
			t.Fatal(err)
		}
		tries := 0
		wait.Until(t, "somebody is asked, once the provider watches", func() bool {
			tries++
			merge(t, platform.api, seeds, fmt.Sprintf(`{"metadata":{"labels":{"try":"%d"}}}`, tries))

			return slices.Contains(e.gardener.log.from(0), kind+" seeds without a configuration")
		})
	}
	g := e.create("g")
	e.shows(g, serviceprovider.StatusPhaseProgressing, serviceprovider.ReasonReconcileError)
	if n := e.nothings(); n != 0 || e.gardener.called("CreateOrUpdate", g.Name) != 0 {
		t.Errorf("%v passes for nobody", n)
	}
}

// TestUpstreamConfigChanges: what is ready is looked at again, every garden, and stays ready.
// Nothing else lets a garden be looked at: there is no poll from the start.
func TestUpstreamConfigChanges(t *testing.T) {
	for name, change := range map[string]func(e *estate){
		"simple":   func(*estate) {},
		"advanced": func(e *estate) { e.advanced = true },
		"channel":  func(e *estate) { e.channel = true },
	} {
		t.Run(name, func(t *testing.T) {
			e := newEstate(t, "changes-"+name)
			change(e)
			e.config.Poll.Duration = 0
			if err := platform.api.Update(t.Context(), e.config); err != nil {
				t.Fatal(err)
			}
			e.grant()
			e.start()
			gardens := []*Garden{e.ready("a"), e.ready("b")}
			for _, plant := range []string{"lilies", "tulips"} {
				merge(t, platform.api, e.config, `{"plant":"`+plant+`"}`)
				for _, g := range gardens {
					e.grows(g, plant)
					e.shows(g, serviceprovider.StatusPhaseReady, serviceprovider.ReasonReconcileSuccess)
				}
			}
		})
	}
}
