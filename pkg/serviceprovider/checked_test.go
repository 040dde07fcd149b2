package serviceprovider

import (
	"context"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

// A checker is a gate that makes clusters, and can tell whether one of them is gone.
type checker struct {
	*gate

	missing error
}

func (c *checker) CheckClusters(context.Context, reconcile.Request, ...any) error {
	c.note("CheckClusters")

	return c.missing
}

// TestADeletionMakesNoCluster: what was made is gone with its cluster, and another cluster is not
// made to delete it from. Where the status says nothing of the service, it is only presumed that
// something was made: then access is asked for.
func TestADeletionMakesNoCluster(t *testing.T) {
	asked, checked := []string{"Reconcile"}, []string{"CheckClusters", "Reconcile", "ReconcileDelete"}
	says := func(kind string, status metav1.ConditionStatus) []metav1.Condition {
		return []metav1.Condition{{Type: kind, Status: status, Reason: "Before"}}
	}
	for name, tc := range map[string]struct {
		reason  string
		says    []metav1.Condition
		lives   bool
		missing error
		calls   []string
		ends    string
	}{
		"Lives":       {"an object that is not deleted may get a cluster", says(ConditionServiceCreated, "True"), true, ErrClusterGone, asked, "Worked"},
		"Created":     {"something was made", says(ConditionServiceCreated, "True"), false, nil, checked, "Released"},
		"Access":      {"an older version had access", says(ConditionClusterAccessReady, "True"), false, nil, checked, "Released"},
		"Ready":       {"a predecessor has said how the service does", says(ServiceProviderConditionReady, "True"), false, nil, checked, "Released"},
		"Nothing":     {"a backup has no status", nil, false, ErrClusterGone, []string{"Reconcile", "ReconcileDelete"}, "Released"},
		"NotCreated":  {"nothing was made", says(ConditionServiceCreated, "False"), false, ErrClusterGone, []string{"Reconcile", "ReconcileDelete"}, "Released"},
		"ClusterGone": {"the cluster is gone, and none is asked for", says(ConditionServiceCreated, "True"), false, ErrClusterGone, []string{"CheckClusters"}, "DeletionBlocked"},
		"NotTold":     {"whether it is there cannot be told, and none is asked for", says(ConditionServiceCreated, "True"), false, boom, []string{"CheckClusters"}, "Failed"},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFakeWorld(t)
			w.build = func(b *APIReconcilerBuilder[*Foo, *FooConfig]) {
				b.ClusterAccessReconciler(&checker{w.gate, tc.missing})
			}
			f := w.create("foo", held)
			f.Status.Conditions = tc.says
			w.Must(w.API.Status().Update(w.Context(), f))
			if !tc.lives {
				w.Delete(f)
			}
			if got := w.ends(f); got.Name != tc.ends {
				t.Errorf("%s: want %s, got %+v", tc.reason, tc.ends, got)
			}
			if diff := cmp.Diff(tc.calls, w.gate.calls); diff != "" {
				t.Errorf("%s: the access provider was asked: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestARequestOfSomebodyElseIsAFailure: an object that is to be made does not wait for it, and
// is tried again with a back-off.
func TestARequestOfSomebodyElseIsAFailure(t *testing.T) {
	w := newFakeWorld(t)
	w.gate.err = ErrAccessNotOwned
	want := ending{
		Name: "Failed", Phase: "Progressing", Err: "cluster setup error: the request for access belongs to somebody else",
		Says: []string{
			"Ready False ReconcileError: cluster setup error: the request for access belongs to somebody else",
			"ClusterAccessReady False ClusterAccessFailed: cluster setup error: the request for access belongs to somebody else",
		},
	}
	got := w.ends(w.create("foo"))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestAConditionThatRepeatsASecret: what somebody else has told is theirs, but a new condition
// that repeats it does so without the secret.
func TestAConditionThatRepeatsASecret(t *testing.T) {
	w := newFakeWorld(t)
	w.gate.cluster = w.with(&rest.Config{BearerToken: canary})
	f := w.create("foo")
	f.Status.Conditions = []metav1.Condition{{Type: "Theirs", Status: metav1.ConditionTrue, Reason: "Told", Message: errCanary.Error()}}
	w.Must(w.API.Status().Update(w.Context(), f))
	w.domain.do = func(_ context.Context, f *Foo) error {
		condition(f, "Ours", metav1.ConditionTrue, "Told", errCanary.Error())

		return nil
	}
	want := []string{
		"Theirs True Told: " + errCanary.Error(), "Ours True Told: nobody is let in by [REDACTED] here",
		"Ready True ReconcileSuccess: Domain Service is ready", granted, created,
	}
	if diff := cmp.Diff(want, w.ends(f).Says); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestConnectionsAreNotCollected: the credentials of one connection are remembered for each
// cluster, however many passes there are.
func TestConnectionsAreNotCollected(t *testing.T) {
	w := newFakeWorld(t)
	f := w.create("foo")
	for range 3 {
		w.steady(f)
	}
	if known, ok := w.r.memory.peek(client.ObjectKeyFromObject(f)); !ok || len(known.connections) != 1 {
		t.Errorf("got %+v", known)
	}
}
