package systemtest

import (
	"strings"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/equality"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/clientcmd"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/controller/controllerutil"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	clustersv1alpha1 "github.com/moorage-dev/moorage/apis/openmcp/clusters/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/serviceprovider"
	"github.com/moorage-dev/moorage/pkg/serviceprovider/clusteraccess"
	"github.com/moorage-dev/moorage/pkg/test"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// A predecessor is what opencontrolplane-runtime and lib/clusteraccess of the platform do with the
// objects of a service and their requests, as far as they read and write them. A test makes its passes.
type predecessor struct {
	*estate

	controller string
	gardener   *gardener
	platform   client.Client
	sent       *test.Ledger // to the platform
}

// before returns the provider as it was on the runtime before, under the same name.
func (e *estate) before() *predecessor {
	e.Helper()
	p := &predecessor{estate: e, controller: e.ns, gardener: newGardener(), sent: &test.Ledger{}}
	config := rest.CopyConfig(platform.config)
	config.Wrap(p.sent.Wrap)
	var err error
	if p.platform, err = client.New(config, client.Options{Scheme: scheme}); err != nil {
		e.Fatal(err)
	}

	return p
}

// errNotManaged is what it says of a request with other labels.
var errNotManaged = errors.New("exists and is not managed by this controller")

// pass looks at an object once. It reports whether nothing is left to do for the moment.
func (p *predecessor) pass(name string) (done bool, err error) {
	p.Helper()
	g := &Garden{ObjectMeta: metav1.ObjectMeta{Namespace: p.ns, Name: name}}
	if gone(p.T, onboarding.api, g) {
		return true, nil
	}
	switch g.Annotations[serviceprovider.OperationAnnotation] {
	case serviceprovider.OperationIgnore:
		return true, nil
	case serviceprovider.OperationReconcile:
		merge(p.T, onboarding.api, g, `{"metadata":{"annotations":{"`+serviceprovider.OperationAnnotation+`":null}}}`)
	}
	base, _ := g.DeepCopyObject().(*Garden)
	if g.DeletionTimestamp.IsZero() {
		done, err = p.createOrUpdate(g)
	} else {
		done, err = p.delete(g)
	}
	if !equality.Semantic.DeepEqual(base.Status, g.Status) {
		base.ObjectMeta = g.ObjectMeta
		if err := client.IgnoreNotFound(onboarding.api.Status().Patch(p.Context(), g,
			client.MergeFrom(base))); err != nil {
			p.Fatal(err)
		}
	}

	return done, err
}

// finishes looks at objects in turn until nothing is left to do.
func (p *predecessor) finishes(names ...string) {
	p.Helper()
	wait.Until(p.T, "the runtime before is done with "+strings.Join(names, ", "), func() bool {
		all := true
		for _, name := range names {
			done, err := p.pass(name)
			if err != nil && !kerrors.IsConflict(err) { // with the platform
				p.Fatalf("%s: %v", name, err)
			}
			all = all && done && err == nil
		}

		return all
	})
}

func (p *predecessor) createOrUpdate(g *Garden) (done bool, err error) {
	if controllerutil.AddFinalizer(g, g.Finalizer()) {
		if err := onboarding.api.Update(p.Context(), g); err != nil {
			return false, err
		}
	}
	cc, err := p.clusters(g)
	if cc == nil || err != nil {
		return false, err
	}
	_, err = p.gardener.CreateOrUpdate(p.Context(), g, p.config, *cc)

	return true, err
}

// delete takes a request that is not there, or is being deleted, for a Delete that has succeeded.
func (p *predecessor) delete(g *Garden) (done bool, err error) {
	withdrawn := false
	for _, id := range ids {
		ar := &clustersv1alpha1.AccessRequest{ObjectMeta: p.meta(g, id)}
		withdrawn = gone(p.T, p.platform, ar) || !ar.DeletionTimestamp.IsZero() || withdrawn
	}
	if !withdrawn {
		cc, err := p.clusters(g)
		if cc == nil || err != nil {
			return false, err
		}
		if result, err := p.gardener.Delete(p.Context(), g, p.config, *cc); err != nil || result.RequeueAfter > 0 {
			return false, err
		}
	}
	left := false
	for _, id := range ids {
		for _, o := range []client.Object{&clustersv1alpha1.AccessRequest{ObjectMeta: p.meta(g, id)},
			&clustersv1alpha1.ClusterRequest{ObjectMeta: p.meta(g, id)}} {
			waiting, err := p.giveBack(g, id, o)
			if err != nil {
				return false, err
			}
			if left = left || waiting; waiting {
				break
			}
		}
	}
	if left {
		return false, nil
	}
	controllerutil.RemoveFinalizer(g, g.Finalizer())

	return true, onboarding.api.Update(p.Context(), g)
}

// giveBack deletes a request, and reports whether others keep it. One with other labels is skipped.
func (p *predecessor) giveBack(g *Garden, id string, o client.Object) (waiting bool, err error) {
	if gone(p.T, p.platform, o) || p.checkLabels(g, id, o) != nil {
		return false, nil
	}
	if o.GetDeletionTimestamp().IsZero() {
		if err := p.platform.Delete(p.Context(), o); err != nil {
			return false, err
		}
	}
	if f := o.GetFinalizers(); len(f) != 1 || f[0] != clusteraccess.Finalizer {
		return true, nil
	}

	return false, p.platform.Patch(p.Context(), o,
		client.RawPatch("application/json-patch+json", []byte(`[{"op":"remove","path":"/metadata/finalizers"}]`)))
}

// The IDs of the clusters, and how the names of their requests end.
var (
	ids      = []string{"mcp", "workload"}
	suffixes = map[string]string{"mcp": "mcp", "workload": "wl"}
)

// meta returns the name of a request.
func (p *predecessor) meta(g *Garden, id string) metav1.ObjectMeta {
	ns := clusteraccess.StableNamespace(reconcile.Request{NamespacedName: client.ObjectKeyFromObject(g)})

	return metav1.ObjectMeta{Namespace: ns, Name: p.controller + "--" + g.Name + "--" + suffixes[id]}
}

func (p *predecessor) labels(g *Garden, id string) map[string]string {
	return map[string]string{
		"openmcp.cloud/managed-by":      p.controller,
		"openmcp.cloud/managed-purpose": g.Namespace + "." + g.Name + "." + id,
		"openmcp.cloud/onboarding-name": g.Name, "openmcp.cloud/onboarding-namespace": g.Namespace,
	}
}

func (p *predecessor) checkLabels(g *Garden, id string, o client.Object) error {
	for key, want := range p.labels(g, id) {
		if o.GetLabels()[key] != want {
			return errors.Wrapf(errNotManaged, "%s: label %s", o.GetName(), key)
		}
	}

	return nil
}

// ensure makes a request unless it is there, which has to have the labels.
func (p *predecessor) ensure(g *Garden, id string, o client.Object) error {
	err := p.platform.Get(p.Context(), client.ObjectKeyFromObject(o), o)
	if kerrors.IsNotFound(err) {
		o.SetLabels(p.labels(g, id))
		o.SetFinalizers([]string{clusteraccess.Finalizer})

		return p.platform.Create(p.Context(), o)
	}
	if err != nil {
		return err
	}

	return p.checkLabels(g, id, o)
}

// clusters asks for access to both clusters, and returns nil while it is waited for.
func (p *predecessor) clusters(g *Garden) (*serviceprovider.ClusterContext, error) {
	all := map[string]*clusters.Cluster{}
	for _, id := range ids {
		ar := &clustersv1alpha1.AccessRequest{ObjectMeta: p.meta(g, id)}
		ar.Spec.RequestRef = &clustersv1alpha1.ObjectReference{Namespace: ar.Namespace, Name: g.Name}
		if id == "workload" {
			cr := &clustersv1alpha1.ClusterRequest{
				ObjectMeta: p.meta(g, id),
				Spec:       clustersv1alpha1.ClusterRequestSpec{Purpose: "workload"},
			}
			if err := p.ensure(g, id, cr); err != nil || cr.Status.Phase != clustersv1alpha1.RequestGranted {
				return nil, err
			}
			ar.Spec.RequestRef.Name = cr.Name
		}
		ar.Spec.Token = beds
		if err := p.ensure(g, id, ar); err != nil {
			return nil, err
		}
		if ar.DeletionTimestamp.IsZero() {
			base := ar.DeepCopy()
			controllerutil.AddFinalizer(ar, clusteraccess.Finalizer)
			ar.Spec.Token, ar.Spec.OIDC = beds, nil
			if !equality.Semantic.DeepEqual(base, ar) {
				return nil, p.platform.Update(p.Context(), ar)
			}
		}
		if ar.Status.Phase != clustersv1alpha1.RequestGranted {
			return nil, nil
		}
		c, err := p.connect(ar)
		if err != nil {
			return nil, err
		}
		all[id] = c
	}

	return &serviceprovider.ClusterContext{MCPCluster: all["mcp"], WorkloadCluster: all["workload"]}, nil
}

// connect reads the Secret of a request.
func (p *predecessor) connect(ar *clustersv1alpha1.AccessRequest) (*clusters.Cluster, error) {
	secret := &corev1.Secret{}
	if err := p.platform.Get(p.Context(), serviceprovider.SecretKeyOf(ar), secret); err != nil {
		return nil, err
	}
	config, err := clientcmd.RESTConfigFromKubeConfig(secret.Data["kubeconfig"])
	if err != nil {
		return nil, err
	}
	c := clusters.New(ar.Name).WithRESTConfig(config)

	return c, c.InitializeClient(scheme)
}

// wrote returns what it has sent to the platform that changes something, since the last call.
func (p *predecessor) wrote() string {
	var all []test.Request
	for _, r := range p.sent.Objects() {
		if r.Verb != "GET" {
			all = append(all, r)
		}
	}
	p.sent.Reset()

	return test.SummarizeRequests(all)
}

// leaves makes gardens and lets the runtime before look at them until they are ready.
func (p *predecessor) leaves(names ...string) []*inheritance {
	p.Helper()
	var all []*inheritance
	for _, name := range names {
		p.plane(name)
		all = append(all, &inheritance{estate: p.estate, garden: p.create(name)})
	}
	p.finishes(names...)
	for _, i := range all {
		i.before = i.there(false)
		if len(i.before) != 7 {
			p.Fatalf("%s: want two AccessRequests, two ClusterRequests with a cluster each, and a bed, got %v",
				i.garden.Name, i.before)
		}
	}

	return all
}

// same compares what there is for a garden with what there was.
func (i *inheritance) same() {
	i.Helper()
	if diff := cmp.Diff(i.before, i.there(false)); diff != "" {
		i.Errorf("what there is for %s: -before +now:\n%s", i.garden.Name, diff)
	}
}

// ended waits until nothing but the control plane of a garden is left.
func (i *inheritance) ended() {
	i.Helper()
	i.vanishes(i.garden)
	wait.Until(i.T, i.garden.Name+": nothing but its control plane is left", func() bool {
		left := i.there(false)

		return len(left) == 2 && left["ClusterRequest "+i.garden.Name] != "" && left["Cluster "+i.garden.Name] != ""
	})
}

// annotate says what is to be done with a garden.
func (i *inheritance) annotate(operation string) {
	i.Helper()
	merge(i.T, onboarding.api, i.garden, `{"metadata":{"annotations":{"`+serviceprovider.OperationAnnotation+`":"`+
		operation+`"}}}`)
}

// remove deletes a request of a garden, whatever its finalizers are.
func (i *inheritance) remove(o client.Object) {
	i.Helper()
	if gone(i.T, platform.api, o) {
		i.Fatalf("%s is not there", o.GetName())
	}
	merge(i.T, platform.api, o, `{"metadata":{"finalizers":null}}`)
	i.delete(platform.api, o)
	wait.Until(i.T, o.GetName()+" is gone", func() bool { return gone(i.T, platform.api, o) })
}

func (p *predecessor) accessRequest(i *inheritance, id string) *clustersv1alpha1.AccessRequest {
	return &clustersv1alpha1.AccessRequest{ObjectMeta: p.meta(i.garden, id)}
}

func (p *predecessor) clusterRequest(i *inheritance) *clustersv1alpha1.ClusterRequest {
	return &clustersv1alpha1.ClusterRequest{ObjectMeta: p.meta(i.garden, "workload")}
}

// TestPredecessor: what the runtime before leaves is what lib/clusteraccess is known to leave, so
// that the other tests of a takeover begin with that.
func TestPredecessor(t *testing.T) {
	e := newEstate(t, "predecessor")
	e.workload = true
	e.grant()
	p := e.before()
	left, known := p.leaves("left")[0], e.inherits(e.ns, "known", nil)
	left.labels = map[string]map[string]string{}
	left.meta(e.ns, "mcp", "mcp")
	left.meta(e.ns, "workload", "wl")
	left.known()
	p.wrote()
	p.finishes(known.garden.Name)
	if sent := p.wrote(); sent != "" {
		t.Errorf("it changes what it is known to leave: %s", sent)
	}
	known.same()
	for _, i := range []*inheritance{left, known} {
		e.delete(onboarding.api, i.garden)
	}
	p.finishes(left.garden.Name, known.garden.Name)
	for _, i := range []*inheritance{left, known} {
		i.ended()
		if p.gardener.called("Delete", i.garden.Name) == 0 {
			t.Errorf("%s is gone without Delete", i.garden.Name)
		}
	}
}
