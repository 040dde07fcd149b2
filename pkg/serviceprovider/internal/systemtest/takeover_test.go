package systemtest

import (
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clustersv1alpha1 "github.com/moorage-dev/moorage/apis/openmcp/clusters/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/serviceprovider"
	"github.com/moorage-dev/moorage/pkg/serviceprovider/clusteraccess"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// An inheritance is an object of a service and what the library of the platform (lib/clusteraccess of
// openmcp-operator) has made for it.
type inheritance struct {
	*estate

	garden *Garden
	labels map[string]map[string]string // by the names of the requests
	before map[string]string            // UIDs and versions of what there is
}

// inherits makes a garden as a provider of before has left it: with the finalizer, a status without conditions of
// ours, a bed, and granted requests for access.
func (e *estate) inherits(controller, name string, annotations map[string]string) *inheritance {
	e.Helper()
	e.plane(name)
	i := &inheritance{estate: e, labels: map[string]map[string]string{}}
	i.garden = &Garden{ObjectMeta: metav1.ObjectMeta{Namespace: e.ns, Name: name, Annotations: annotations}}
	i.garden.Finalizers = []string{i.garden.Finalizer()}
	bed := newBed(i.garden)
	bed.Data = map[string]string{"plant": e.config.Plant}
	mcps, workload := i.meta(controller, "mcp", "mcp"), i.meta(controller, "workload", "wl")
	cr := &clustersv1alpha1.ClusterRequest{ObjectMeta: workload, Spec: clustersv1alpha1.ClusterRequestSpec{Purpose: "workload"}}
	ars := []*clustersv1alpha1.AccessRequest{{ObjectMeta: *mcps.DeepCopy()}, {ObjectMeta: *workload.DeepCopy()}}
	for n, to := range []string{name, cr.Name} {
		ars[n].Spec = clustersv1alpha1.AccessRequestSpec{Token: beds, RequestRef: &clustersv1alpha1.ObjectReference{Namespace: workload.Namespace, Name: to}}
	}
	for _, err := range []error{
		onboarding.api.Create(e.Context(), i.garden), mcp.api.Create(e.Context(), bed),
		platform.api.Create(e.Context(), cr), platform.api.Create(e.Context(), ars[0]), platform.api.Create(e.Context(), ars[1]),
	} {
		if err != nil {
			e.Fatal(err)
		}
	}
	merge(e.T, onboarding.api, i.garden, `{"metadata":{"labels":{"left":"behind"}}}`)
	body := `{"status":{"phase":"Ready","conditions":[{"type":"Ready","status":"True","reason":"ReconcileSuccess","message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`
	if err := onboarding.api.Status().Patch(e.Context(), i.garden, client.RawPatch("application/merge-patch+json", []byte(body))); err != nil {
		e.Fatal(err)
	}
	for _, ar := range ars {
		wait.Until(e.T, ar.Name+" is granted", func() bool { return !gone(e.T, platform.api, ar) && ar.Status.Phase == clustersv1alpha1.RequestGranted })
	}
	i.before = i.there(false)

	return i
}

// meta returns the metadata of a request.
func (i *inheritance) meta(controller, id, suffix string) metav1.ObjectMeta {
	m := metav1.ObjectMeta{
		Namespace:  clusteraccess.StableNamespace(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(i.garden)}),
		Name:       controller + "--" + i.garden.Name + "--" + suffix,
		Finalizers: []string{clusteraccess.Finalizer},
		Labels: map[string]string{
			clusteraccess.LabelManagedBy: controller, clusteraccess.LabelManagedPurpose: i.ns + "." + i.garden.Name + "." + id,
			clusteraccess.LabelOnboardingName: i.garden.Name, clusteraccess.LabelOnboardingNamespace: i.ns,
		},
	}
	i.labels[m.Name] = m.Labels

	return m
}

// there returns what there is for the garden on the platform and in its control plane, by its UID, and its version
// if that counts.
func (i *inheritance) there(versions bool) map[string]string {
	i.Helper()
	all := map[string]string{}
	note := func(kind string, o client.Object) {
		all[kind+" "+o.GetName()] = string(o.GetUID())
		if versions {
			all[kind+" "+o.GetName()] += " " + o.GetResourceVersion()
		}
	}
	in := client.InNamespace(clusteraccess.StableNamespace(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(i.garden)}))
	ars, crs, cs := &clustersv1alpha1.AccessRequestList{}, &clustersv1alpha1.ClusterRequestList{}, &clustersv1alpha1.ClusterList{}
	for _, list := range []client.ObjectList{ars, crs, cs} {
		if err := platform.api.List(i.Context(), list, in); err != nil {
			i.Fatal(err)
		}
	}
	for n := range ars.Items {
		note("AccessRequest", &ars.Items[n])
	}
	for n := range crs.Items {
		note("ClusterRequest", &crs.Items[n])
	}
	for n := range cs.Items {
		note("Cluster", &cs.Items[n])
	}
	if bed := newBed(i.garden); !gone(i.T, mcp.api, bed) {
		note("ConfigMap", bed)
	}

	return all
}

// known reports in the way of the library whether it would take its requests for its own again: it compares the labels, and
// waits for its finalizer alone.
func (i *inheritance) known() {
	i.Helper()
	for name, labels := range i.labels {
		ar := &clustersv1alpha1.AccessRequest{ObjectMeta: metav1.ObjectMeta{Namespace: i.request(i.garden).Namespace, Name: name}}
		if gone(i.T, platform.api, ar) {
			i.Errorf("%s is gone", name)
		}
		for key, want := range labels {
			if ar.Labels[key] != want {
				i.Errorf("%s: want label %s to be %s, got %s", name, key, want, ar.Labels[key])
			}
		}
		own := 0
		for _, f := range ar.Finalizers {
			if f == clusteraccess.Finalizer {
				own++
			}
		}
		if own != 1 {
			i.Errorf("%s has the finalizers %v", name, ar.Finalizers)
		}
	}
}

// TestTakeover: a fleet of the library of the platform is taken over while it runs: nothing is made a second time, nothing is
// lost, a deletion that was begun is finished, and what is paused is left alone. It could be taken back.
func TestTakeover(t *testing.T) {
	e := newEstate(t, "takeover")
	e.workload = true
	e.grant()
	alive, paused, leaving := e.inherits(e.ns, "alive", nil), e.inherits(e.ns, "paused", map[string]string{serviceprovider.OperationAnnotation: serviceprovider.OperationIgnore}), e.inherits(e.ns, "leaving", nil)
	untouched := paused.there(true)
	e.delete(onboarding.api, leaving.garden)
	e.start()

	e.says(alive.garden, serviceprovider.ConditionServiceCreated, serviceprovider.ReasonCreated)
	e.passes(3)
	if diff := cmp.Diff(alive.before, alive.there(false)); diff != "" {
		t.Errorf("what there is for the object: -before +after:\n%s", diff)
	}
	alive.known()
	e.vanishes(leaving.garden)
	if n := e.gardener.called("Delete", "leaving"); n == 0 {
		t.Error("the domain was not called for what goes")
	}
	wait.Until(t, "nothing but its control plane is left", func() bool {
		left := leaving.there(false)

		return len(left) == 2 && left["ClusterRequest leaving"] != "" && left["Cluster leaving"] != ""
	})
	e.says(paused.garden, serviceprovider.ConditionSynced, serviceprovider.ReasonReconcilePaused)
	if diff := cmp.Diff(untouched, paused.there(true)); diff != "" {
		t.Errorf("what is paused: -before +after:\n%s", diff)
	}

	// Back: the library would find what it has made, and what was made here.
	made := e.ready("made")
	e.stop()
	alive.known()
	back := &inheritance{estate: e, garden: made, labels: map[string]map[string]string{}}
	back.meta(e.ns, "mcp", "mcp")
	back.meta(e.ns, "workload", "wl")
	back.known()

	// And forth again: what is wanted no more goes, with its workload cluster.
	e.start()
	merge(t, onboarding.api, paused.garden, `{"metadata":{"annotations":null}}`)
	for _, i := range []*inheritance{alive, paused, back} {
		e.delete(onboarding.api, i.garden)
		e.vanishes(i.garden)
		wait.Until(t, i.garden.Name+": nothing but its control plane is left", func() bool { return len(i.there(false)) == 2 })
		if e.gardener.called("Delete", i.garden.Name) == 0 {
			t.Errorf("the domain was not called for %s", i.garden.Name)
		}
	}
}

// TestTakeoverOfARenamedController: it goes on with what it has asked for by its former name, and gives that back.
func TestTakeoverOfARenamedController(t *testing.T) {
	e := newEstate(t, "renamed")
	e.workload, e.former = true, "gardens-before"
	e.grant()
	i := e.inherits(e.former, "g", nil)
	e.start()
	e.says(i.garden, serviceprovider.ConditionServiceCreated, serviceprovider.ReasonCreated)
	e.passes(3)
	if diff := cmp.Diff(i.before, i.there(false)); diff != "" {
		t.Errorf("what there is for the object: -before +after:\n%s", diff)
	}
	i.known()
	secret := &corev1.Secret{}
	e.gardener.mu.Lock()
	given := e.gardener.given["g"]
	e.gardener.mu.Unlock()
	if err := platform.api.Get(t.Context(), given.WorkloadAccessSecretKey, secret); err != nil {
		t.Errorf("the Secret of the workload cluster: %v", err)
	}
	e.delete(onboarding.api, i.garden)
	e.vanishes(i.garden)
	wait.Until(t, "nothing but its control plane is left", func() bool { return len(i.there(false)) == 2 })
}
