package providerconfig

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
)

func withSynced(b *Bucket, status metav1.ConditionStatus, reason commonv1.ConditionReason) *Bucket {
	b.SetConditions(commonv1.Condition{Type: commonv1.TypeSynced, Status: status, Reason: reason})

	return b
}

func TestEnqueueUsers(t *testing.T) {
	c := fake.NewClientBuilder().WithScheme(newScheme()).WithObjects(
		bucket("a", "one", "", "main"), bucket("a", "two", "Tenant", "main"), bucket("a", "three", "", "spare"),
		bucket("b", "one", "", "main"), bucket("b", "two", "ClusterTenant", "main"),
		bucket("a", "four", "ClusterTenant", "main"),
		withSynced(bucket("d", "healthy", "", "main"), metav1.ConditionTrue, commonv1.ReasonReconcileSuccess),
		withSynced(bucket("d", "rejected", "", "main"), metav1.ConditionFalse, commonv1.ReasonUnauthorized),
		withSynced(bucket("d", "pending", "", "main"), metav1.ConditionUnknown, commonv1.ReasonCreationPending),
	).Build()
	h, err := EnqueueUsers(c, kinds, &Bucket{})
	if err != nil {
		t.Fatal(err)
	}
	generation := func(w *Tenant, n int64) *Tenant { w.Generation = n; return w }
	counted := func(w *Tenant) *Tenant { w.Status.Users, w.ResourceVersion = 7, "8"; return w }
	update := func(before, now client.Object) func(queue) {
		return func(q queue) { h.Update(t.Context(), event.UpdateEvent{ObjectOld: before, ObjectNew: now}, q) }
	}
	connected := func(namespace string, status metav1.ConditionStatus) *Tenant {
		out := tenant(namespace, "main")
		out.SetConditions(commonv1.Condition{Type: commonv1.TypeConnected, Status: status})

		return out
	}
	for name, tc := range map[string]struct {
		reason string
		do     func(queue)
		want   []string
	}{
		"Created": {"who waited for it", func(q queue) {
			h.Create(t.Context(),
				event.CreateEvent{Object: tenant("a", "main")}, q)
		}, []string{"a/one", "a/two"}},
		"Cluster": {"of all namespaces", func(q queue) {
			h.Create(t.Context(),
				event.CreateEvent{Object: clusterTenant("main")}, q)
		}, []string{"a/four", "b/two"}},
		"Listed": {"everything is looked at anyway", func(q queue) {
			h.Create(t.Context(), event.CreateEvent{Object: tenant("a", "main"), IsInInitialList: true}, q)
		}, nil},
		"Ready": {"it can be used from now on",
			update(tenant("a", "main"), with(tenant("a", "main"), []string{FinalizerName}, false)),
			[]string{"a/one", "a/two"}},
		"Spec": {"connect anew", update(generation(tenant("b", "main"), 1), generation(tenant("b", "main"), 2)),
			[]string{"b/one"}},
		"Status": {"nothing for its users", update(tenant("a", "main"), counted(tenant("a", "main"))), nil},
		"Connected": {"only objects that are not synced need the connection now",
			update(connected("d", metav1.ConditionFalse), connected("d", metav1.ConditionTrue)),
			[]string{"d/pending", "d/rejected"}},
		"ConnectedUnreconciled": {"an object without the condition is not synced",
			update(connected("a", metav1.ConditionFalse), connected("a", metav1.ConditionTrue)),
			[]string{"a/one", "a/two"}},
		"ConnectedAndSpec": {"a changed spec concerns all users", update(
			connected("d", metav1.ConditionFalse), generation(connected("d", metav1.ConditionTrue), 2)),
			[]string{"d/healthy", "d/pending", "d/rejected"}},
		"Flapping": {"an overloaded system that recovers is not called for healthy objects", func(q queue) {
			for range 10 {
				update(connected("d", metav1.ConditionTrue), connected("d", metav1.ConditionFalse))(q)
				update(connected("d", metav1.ConditionFalse), connected("d", metav1.ConditionTrue))(q)
			}
		}, []string{"d/pending", "d/rejected"}},
		"Disconnected": {"they notice it when they call",
			update(connected("d", metav1.ConditionTrue), connected("d", metav1.ConditionFalse)), nil},
		"ConnectedFirst": {"nothing was held",
			update(tenant("d", "main"), connected("d", metav1.ConditionTrue)), nil},
		"Unused": {"nobody", update(generation(tenant("c", "main"), 1), generation(tenant("c", "main"), 2)), nil},
		"Deleted": {"nothing can be done", func(q queue) {
			h.Delete(t.Context(),
				event.DeleteEvent{Object: tenant("a", "main")}, q)
		}, nil},
	} {
		t.Run(name, func(t *testing.T) {
			q := priorityqueue.New[reconcile.Request]("test")
			defer q.ShutDown()
			tc.do(q)
			var got []string
			for range tc.want {
				request, priority, _ := q.GetWithPriority()
				if priority != handler.LowPriority {
					t.Errorf("%s: priority %d, want %d", tc.reason, priority, handler.LowPriority)
				}
				got = append(got, request.String())
			}
			slices.Sort(got)
			if diff := cmp.Diff(tc.want, got); diff != "" || q.Len() != 0 {
				t.Errorf("%s: %d more, -want, +got:\n%s", tc.reason, q.Len(), diff)
			}
		})
	}
	if _, err := EnqueueUsers(c, Kinds{}, &Bucket{}); err == nil {
		t.Error("EnqueueUsers(...) without kinds succeeded")
	}
	if _, err := EnqueueUsers(c, kinds, &Role{}); err == nil {
		t.Error("EnqueueUsers(...) for an unregistered kind succeeded")
	}
}

// TestNotSynced verifies that a user of a kind without conditions counts as not synced.
func TestNotSynced(t *testing.T) {
	synced := withSynced(bucket("a", "one", "", "main"), metav1.ConditionTrue, commonv1.ReasonReconcileSuccess)
	if notSynced(synced) {
		t.Error("an object whose condition Synced is True is not synced")
	}
	if !notSynced(struct{ User }{synced}) { // without GetCondition
		t.Error("an object without conditions is synced")
	}
}
