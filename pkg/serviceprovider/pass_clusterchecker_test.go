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

// clusterChecker is an access provider that creates clusters and checks whether they exist.
type clusterChecker struct {
	*fakeProvider

	missing error
}

func (c *clusterChecker) CheckClusters(context.Context, reconcile.Request, ...any) error {
	c.record("CheckClusters")

	return c.missing
}

// TestDeletionCreatesNoCluster verifies that a deletion does not request another cluster in place
// of one that contained the service. If it is only presumed that something was created, access is
// requested.
func TestDeletionCreatesNoCluster(t *testing.T) {
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
		"Lives": {
			"an object that is not deleted may get a cluster", says(ConditionServiceCreated, "True"), true,
			ErrClusterGone,
			asked, "Worked",
		},
		"Created": {"something was made", says(ConditionServiceCreated, "True"), false, nil, checked, "Released"},
		"Access": {
			"an older version had access", says(ConditionClusterAccessReady, "True"), false, nil, checked, "Released",
		},
		"Ready": {
			"a predecessor has said how the service does", says(ServiceProviderConditionReady, "True"), false, nil,
			checked,
			"Released",
		},
		"Nothing": {
			"a backup has no status", nil, false, ErrClusterGone, []string{"Reconcile", "ReconcileDelete"}, "Released",
		},
		"NotCreated": {
			"nothing was made", says(ConditionServiceCreated, "False"), false, ErrClusterGone,
			[]string{"Reconcile", "ReconcileDelete"}, "Released",
		},
		"ClusterGone": {
			"the cluster is gone, and none is asked for", says(ConditionServiceCreated, "True"), false, ErrClusterGone,
			[]string{"CheckClusters"}, "DeletionBlocked",
		},
		"NotTold": {
			"whether it is there cannot be told, and none is asked for", says(ConditionServiceCreated, "True"),
			false, boom,
			[]string{"CheckClusters"}, "Failed",
		},
	} {
		t.Run(name, func(t *testing.T) {
			w := newFakeWorld(t)
			w.build = func(b *APIReconcilerBuilder[*Foo, *FooConfig]) {
				b.ClusterAccessReconciler(&clusterChecker{w.gate, tc.missing})
			}
			f := w.create("foo", withFinalizer)
			f.Status.Conditions = tc.says
			w.Must(w.API.Status().Update(w.Context(), f))
			if !tc.lives {
				w.Delete(f)
			}
			if got := w.run(f); got.Name != tc.ends {
				t.Errorf("%s: want %s, got %+v", tc.reason, tc.ends, got)
			}
			if diff := cmp.Diff(tc.calls, w.gate.calls); diff != "" {
				t.Errorf("%s: the access provider was asked: -want +got:\n%s", tc.reason, diff)
			}
		})
	}
}

// TestRequestNotOwnedIsRetried verifies that ErrAccessNotOwned of a wanted object is an error with
// backoff.
func TestRequestNotOwnedIsRetried(t *testing.T) {
	w := newFakeWorld(t)
	w.gate.err = ErrAccessNotOwned
	want := passResult{
		Name: "Failed", Phase: "Progressing", Err: "cluster setup error: the request for access has another owner",
		Says: []string{
			"Ready False ReconcileError: cluster setup error: the request for access has another owner",
			"ClusterAccessReady False ClusterAccessFailed: cluster setup error: the request for access has another owner",
		},
	}
	got := w.run(w.create("foo"))
	if diff := cmp.Diff(want, got); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestForeignConditionKeepsMessage verifies that the message of a stored condition stays, and that
// a new condition with the same secret is redacted.
func TestForeignConditionKeepsMessage(t *testing.T) {
	w := newFakeWorld(t)
	w.gate.cluster = w.with(&rest.Config{BearerToken: canary})
	f := w.create("foo")
	f.Status.Conditions = []metav1.Condition{
		{Type: "Theirs", Status: metav1.ConditionTrue, Reason: "Told", Message: errCanary.Error()},
	}
	w.Must(w.API.Status().Update(w.Context(), f))
	w.domain.do = func(_ context.Context, f *Foo) error {
		setCondition(f, "Ours", metav1.ConditionTrue, "Told", errCanary.Error())

		return nil
	}
	want := []string{
		"Theirs True Told: " + errCanary.Error(), "Ours True Told: nobody is let in by [REDACTED] here",
		"Ready True ReconcileSuccess: Domain Service is ready", granted, created,
	}
	if diff := cmp.Diff(want, w.run(f).Says); diff != "" {
		t.Errorf("-want +got:\n%s", diff)
	}
}

// TestConnectionsDoNotAccumulate verifies that the credentials of one connection per cluster are
// kept, however many passes run.
func TestConnectionsDoNotAccumulate(t *testing.T) {
	w := newFakeWorld(t)
	f := w.create("foo")
	for range 3 {
		w.steady(f)
	}
	if _, known := w.r.states.At(client.ObjectKeyFromObject(f)); known == nil || len(known.connections) != 1 {
		t.Errorf("got %+v", known)
	}
}
