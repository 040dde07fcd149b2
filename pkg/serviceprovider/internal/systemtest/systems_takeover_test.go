package systemtest

import (
	"slices"
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clustersv1alpha1 "github.com/moorage-dev/moorage/apis/openmcp/clusters/v1alpha1"
	"github.com/moorage-dev/moorage/internal/pagetest"
	"github.com/moorage-dev/moorage/pkg/errors"
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
	cr := &clustersv1alpha1.ClusterRequest{
		ObjectMeta: workload, Spec: clustersv1alpha1.ClusterRequestSpec{Purpose: "workload"},
	}
	ars := []*clustersv1alpha1.AccessRequest{{ObjectMeta: *mcps.DeepCopy()}, {ObjectMeta: *workload.DeepCopy()}}
	for n, to := range []string{name, cr.Name} {
		ars[n].Spec = clustersv1alpha1.AccessRequestSpec{
			Token:      beds,
			RequestRef: &clustersv1alpha1.ObjectReference{Namespace: workload.Namespace, Name: to},
		}
	}
	for _, err := range []error{
		onboarding.api.Create(e.Context(), i.garden), mcp.api.Create(e.Context(), bed),
		platform.api.Create(e.Context(), cr), platform.api.Create(e.Context(), ars[0]),
		platform.api.Create(e.Context(), ars[1]),
	} {
		if err != nil {
			e.Fatal(err)
		}
	}
	merge(e.T, onboarding.api, i.garden, `{"metadata":{"labels":{"left":"behind"}}}`)
	body := `{"status":{"phase":"Ready","conditions":[{"type":"Ready","status":"True","reason":"ReconcileSuccess",` +
		`"message":"","lastTransitionTime":"2026-01-01T00:00:00Z"}]}}`
	if err := onboarding.api.Status().Patch(e.Context(), i.garden,
		client.RawPatch("application/merge-patch+json", []byte(body))); err != nil {
		e.Fatal(err)
	}
	for _, ar := range ars {
		wait.Until(e.T, ar.Name+" is granted",
			func() bool { return !gone(e.T, platform.api, ar) && ar.Status.Phase == clustersv1alpha1.RequestGranted })
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
			clusteraccess.LabelManagedBy:      controller,
			clusteraccess.LabelManagedPurpose: i.ns + "." + i.garden.Name + "." + id,
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
	in := client.InNamespace(clusteraccess.StableNamespace(reconcile.Request{
		NamespacedName: client.ObjectKeyFromObject(i.garden),
	}))
	ars, crs := &clustersv1alpha1.AccessRequestList{}, &clustersv1alpha1.ClusterRequestList{}
	cs := &clustersv1alpha1.ClusterList{}
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

// known reports in the way of the library whether it would take its requests for its own again: it compares the
// labels, and waits for its finalizer alone.
func (i *inheritance) known() {
	i.Helper()
	for name, labels := range i.labels {
		ar := &clustersv1alpha1.AccessRequest{ObjectMeta: metav1.ObjectMeta{Namespace: i.request(i.garden).Namespace,
			Name: name}}
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

// TestTakeover: a fleet of the runtime before is taken over while it runs, in every state: nothing is made
// a second time, nothing is lost, a deletion that was begun is finished, and what is paused is left alone.
// Then it goes back, with what was made here, and forth again.
func TestTakeover(t *testing.T) {
	e := newEstate(t, "takeover")
	e.workload = true
	e.grant()
	before := e.before()
	f := &fleet{estate: e, before: before}
	f.forth()
	f.back()
	f.forthAgain()
}

// A fleet is what changes over.
type fleet struct {
	*estate

	before        *predecessor
	alive         []*inheritance // what lives on either runtime
	paused        *inheritance
	pausedLeaving *inheritance
	foreign       *inheritance // whose request has another owner at first
	made          *inheritance // here
}

// forth takes over what the runtime before has left.
func (f *fleet) forth() {
	e, before := f.estate, f.before
	left := before.leaves("alive", "paused", "paused-leaving", "asked", "leaving", "withdrawing", "withdrawn",
		"taken", "bare")
	alive, paused, pausedLeaving, asked, leaving := left[0], left[1], left[2], left[3], left[4]
	withdrawing, withdrawn, taken, bare := left[5], left[6], left[7], left[8]
	held, begun := f.begins("held"), f.begins("begun")
	if _, err := before.pass(begun.garden.Name); err != nil { // it has asked for the first request
		e.Fatal(err)
	}
	begun.before = begun.there(false)
	merge(e.T, onboarding.api, held.garden, `{"metadata":{"finalizers":["`+held.garden.Finalizer()+`"]}}`)

	// Beside them are requests without what only some versions have made, requests that a user has removed, and one of
	// another owner under the same name.
	for _, o := range []client.Object{before.accessRequest(bare, "mcp"), before.accessRequest(bare, "workload"),
		before.clusterRequest(bare)} {
		merge(e.T, platform.api, o, `{"metadata":{"labels":{"openmcp.cloud/onboarding-name":null,`+
			`"openmcp.cloud/onboarding-namespace":null}}}`)
	}
	taken.remove(before.accessRequest(taken, "mcp"))
	foreign := f.begins("foreign")
	theirs := before.accessRequest(foreign, "mcp")
	theirs.Labels = map[string]string{"openmcp.cloud/managed-by": "others"}
	theirs.Spec.RequestRef = &clustersv1alpha1.ObjectReference{Namespace: theirs.Namespace, Name: "foreign"}
	if err := platform.api.Create(e.Context(), theirs); err != nil {
		e.Fatal(err)
	}

	asked.annotate(serviceprovider.OperationReconcile)
	paused.annotate(serviceprovider.OperationIgnore)
	pausedLeaving.annotate(serviceprovider.OperationIgnore)
	for _, i := range []*inheritance{leaving, withdrawing, withdrawn, pausedLeaving} {
		e.delete(onboarding.api, i.garden)
	}
	f.withdraws(withdrawing)
	f.withdraws(withdrawn)
	f.hasWithdrawn(withdrawn)
	untouched, untouchedLeaving := paused.there(true), pausedLeaving.there(true)
	wait.Until(e.T, "somebody else has access", func() bool {
		return !gone(e.T, platform.api, theirs) && theirs.Status.Phase == clustersv1alpha1.RequestGranted
	})
	version := theirs.ResourceVersion

	e.start()
	for _, i := range []*inheritance{alive, asked, bare, taken, held, begun} {
		e.says(i.garden, serviceprovider.ConditionServiceCreated, serviceprovider.ReasonCreated)
		e.shows(i.garden, serviceprovider.StatusPhaseReady, serviceprovider.ReasonReconcileSuccess)
	}
	e.says(foreign.garden, serviceprovider.ConditionClusterAccessReady, serviceprovider.ReasonClusterAccessFailed)
	e.says(withdrawn.garden, serviceprovider.ConditionServiceCreated, serviceprovider.ReasonOrphaned)
	e.passes(12)
	for _, i := range []*inheritance{alive, asked, bare} {
		i.same()
	}
	delete(taken.before, "AccessRequest "+before.accessRequest(taken, "mcp").Name)
	for _, i := range []*inheritance{taken, begun, held} { // what was there is there, and what was missing is made once
		i.contains()
	}
	if _ = gone(e.T, onboarding.api, asked.garden); len(asked.garden.Annotations) != 0 {
		e.Errorf("the request to reconcile is left: %v", asked.garden.Annotations)
	}
	if _ = gone(e.T, platform.api, theirs); theirs.ResourceVersion != version {
		e.Errorf("the request of somebody else was changed: %+v", theirs.ObjectMeta)
	}
	for i, was := range map[*inheritance]map[string]string{paused: untouched, pausedLeaving: untouchedLeaving} {
		e.says(i.garden, serviceprovider.ConditionSynced, serviceprovider.ReasonReconcilePaused)
		if diff := cmp.Diff(was, i.there(true)); diff != "" {
			e.Errorf("what is paused: -before +after:\n%s", diff)
		}
	}

	// Deletions end: Delete is called where the runtime before has not done that.
	withdrawn.same()
	merge(e.T, platform.api, before.clusterRequest(withdrawn),
		`{"metadata":{"finalizers":["`+clusteraccess.Finalizer+`"]}}`)
	for i, calls := range map[*inheritance]bool{leaving: true, withdrawing: false, withdrawn: false} {
		i.ended()
		if n := e.gardener.called("Delete", i.garden.Name); n > 0 != calls {
			e.Errorf("the domain was called %d times for %s", n, i.garden.Name)
		}
	}
	e.delete(platform.api, theirs)
	f.alive, f.paused, f.pausedLeaving, f.foreign = []*inheritance{alive, bare, taken, begun, held,
		asked}, paused, pausedLeaving, foreign
}

// begins creates a garden that was not reconciled yet.
func (f *fleet) begins(name string) *inheritance {
	f.Helper()
	f.plane(name)

	return &inheritance{estate: f.estate, garden: f.create(name), before: map[string]string{}}
}

// withdraws lets the runtime before delete a garden until it waits for its AccessRequests to go.
func (f *fleet) withdraws(i *inheritance) {
	f.Helper()
	ar := f.before.accessRequest(i, "mcp")
	wait.Until(f.T, i.garden.Name+" gives access back", func() bool {
		if _, err := f.before.pass(i.garden.Name); err != nil && !kerrors.IsConflict(err) {
			f.Fatal(err)
		}

		return gone(f.T, platform.api, ar) || !ar.DeletionTimestamp.IsZero()
	})
	if n := f.before.gardener.called("Delete", i.garden.Name); n == 0 || !gone(f.T, mcp.api, newBed(i.garden)) {
		f.Fatalf("access to %s is given back after %d calls of Delete", i.garden.Name, n)
	}
}

// hasWithdrawn lets it go on until its cluster is being removed, which takes the platform a while.
func (f *fleet) hasWithdrawn(i *inheritance) {
	f.Helper()
	cr := f.before.clusterRequest(i)
	_ = gone(f.T, platform.api, cr)
	merge(f.T, platform.api, cr, `{"metadata":{"finalizers":["`+clusteraccess.Finalizer+`","example.org/removal"]}}`)
	wait.Until(f.T, i.garden.Name+" has given access back", func() bool {
		if _, err := f.before.pass(i.garden.Name); err != nil && !kerrors.IsConflict(err) {
			f.Fatal(err)
		}
		i.before = i.there(false)

		return len(i.before) == 3 && i.before["ClusterRequest "+cr.Name] != ""
	})
}

// contains compares what there was for a garden with what there is: nothing is gone, or another one.
func (i *inheritance) contains() {
	i.Helper()
	now := i.there(false)
	for what, uid := range i.before {
		if now[what] != uid {
			i.Errorf("%s: %s was %s, and is %s", i.garden.Name, what, uid, now[what])
		}
	}
	if len(now) != 7 {
		i.Errorf("%s: want two AccessRequests, two ClusterRequests with a cluster each, and a bed, got %v",
			i.garden.Name, now)
	}
}

// back lets the runtime before go on with what was taken over, and with what was made here.
func (f *fleet) back() {
	e, before := f.estate, f.before
	f.made = &inheritance{estate: e, garden: e.ready("made")}
	leaving := &inheritance{estate: e, garden: e.ready("made-leaving")}
	long := &inheritance{estate: e, garden: e.ready("made-" + strings.Repeat("long-", 6) + "name")}
	pot := newPot(leaving.garden)
	if err := mcp.api.Create(e.Context(), pot); err != nil {
		e.Fatal(err)
	}
	e.delete(onboarding.api, leaving.garden)
	wait.Until(e.T, "its deletion has begun",
		func() bool { return e.gardener.called("Delete", leaving.garden.Name) > 0 })
	all := append([]*inheritance{f.made, f.paused, f.pausedLeaving}, f.alive...)
	for _, i := range append(all, long) {
		i.before = i.there(false)
	}

	// The page lists what has to be decided first.
	e.listed([]string{leaving.garden.Name, f.pausedLeaving.garden.Name}, []string{long.garden.Name})
	e.stop()

	// What it finds it leaves as it is: there is nothing to ask for, and nothing to correct.
	before.gardener = newGardener()
	before.wrote()
	before.finishes(names(all)...)
	for _, i := range all {
		i.same()
	}
	if sent := before.wrote(); sent != "" {
		e.Errorf("the runtime before changes on the platform: %s", sent)
	}
	if n := before.gardener.called("CreateOrUpdate", f.paused.garden.Name); n != 0 {
		e.Errorf("what is paused was worked on %d times", n)
	}
	if n := before.gardener.called("CreateOrUpdate", f.made.garden.Name); n == 0 {
		e.Error("what was made here is not worked on")
	}

	// What it cannot have made is not lost, and waits.
	if _, err := before.pass(long.garden.Name); !errors.Is(err, errNotManaged) {
		e.Errorf("%s: want what the page says of long names, got %v", long.garden.Name, err)
	}
	long.same()

	// A deletion that was begun here goes on there, and so does one of what was made here.
	e.delete(mcp.api, pot)
	e.delete(onboarding.api, f.made.garden)
	before.finishes(leaving.garden.Name, f.made.garden.Name)
	for _, i := range []*inheritance{leaving, f.made} {
		i.ended()
		if before.gardener.called("Delete", i.garden.Name) == 0 {
			e.Errorf("%s is gone without Delete", i.garden.Name)
		}
	}
	f.alive = append(f.alive, long)
}

// names returns those of gardens.
func names(all []*inheritance) (names []string) {
	for _, i := range all {
		names = append(names, i.garden.Name)
	}

	return names
}

// forthAgain takes over again what was there twice, and ends it.
func (f *fleet) forthAgain() {
	e := f.estate
	for _, i := range f.alive {
		i.before = i.there(false)
	}
	e.start()
	e.shows(f.foreign.garden, serviceprovider.StatusPhaseReady, serviceprovider.ReasonReconcileSuccess)
	e.passes(12)
	for _, i := range f.alive {
		i.same()
	}
	all := append(f.alive, f.paused, f.pausedLeaving, f.foreign)
	for _, i := range all {
		merge(e.T, onboarding.api, i.garden, `{"metadata":{"annotations":null}}`)
		if err := client.IgnoreNotFound(onboarding.api.Delete(e.Context(), i.garden)); err != nil {
			e.Fatal(err)
		}
	}
	for _, i := range all {
		i.ended()
		if e.gardener.called("Delete", i.garden.Name) == 0 {
			e.Errorf("the domain was not called for %s", i.garden.Name)
		}
	}
}

// listed runs the commands that the page has for the way back, and compares which gardens they list.
func (e *estate) listed(want ...[]string) {
	e.Helper()
	commands, err := pagetest.Commands("../../../../docs/service-providers.md", "### Going back",
		"backups.example.org", "gardens."+group.Group)
	if err != nil {
		e.Fatal(err)
	}
	var got [][]string
	for _, command := range commands {
		out, err := pagetest.Kubectl{Client: onboarding.api}.Run(e.Context(), command)
		if err != nil {
			e.Fatal(err)
		}
		var names []string
		for line := range strings.Lines(out) {
			if name, own := strings.CutPrefix(strings.TrimSpace(line), e.ns+"/"); own {
				names = append(names, name)
			}
		}
		slices.Sort(names)
		got = append(got, names)
	}
	if diff := cmp.Diff(want, got); diff != "" {
		e.Errorf("what the page has listed: -want +got:\n%s", diff)
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
