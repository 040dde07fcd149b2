package providerconfig

import (
	"slices"
	"testing"

	"github.com/google/go-cmp/cmp"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/controller/priorityqueue"
	"sigs.k8s.io/controller-runtime/pkg/event"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
)

func TestEnqueueUsers(t *testing.T) {
	c := fake.NewClientBuilder().WithScheme(newScheme()).WithObjects(
		boat("a", "one", "", "main"), boat("a", "two", "Wharf", "main"), boat("a", "three", "", "spare"),
		boat("b", "one", "", "main"), boat("b", "two", "ClusterWharf", "main"),
		boat("a", "four", "ClusterWharf", "main"),
	).Build()
	h, err := EnqueueUsers(c, kinds, &Boat{})
	if err != nil {
		t.Fatal(err)
	}
	generation := func(w *Wharf, n int64) *Wharf { w.Generation = n; return w }
	counted := func(w *Wharf) *Wharf { w.Status.Users, w.ResourceVersion = 7, "8"; return w }
	update := func(before, now client.Object) func(queue) {
		return func(q queue) { h.Update(t.Context(), event.UpdateEvent{ObjectOld: before, ObjectNew: now}, q) }
	}
	for name, tc := range map[string]struct {
		reason string
		do     func(queue)
		want   []string
	}{
		"Created": {"who waited for it", func(q queue) {
			h.Create(t.Context(),
				event.CreateEvent{Object: wharf("a", "main")}, q)
		}, []string{"a/one", "a/two"}},
		"Cluster": {"of all namespaces", func(q queue) {
			h.Create(t.Context(),
				event.CreateEvent{Object: clusterWharf("main")}, q)
		}, []string{"a/four", "b/two"}},
		"Listed": {"everything is looked at anyway", func(q queue) {
			h.Create(t.Context(), event.CreateEvent{Object: wharf("a", "main"), IsInInitialList: true}, q)
		}, nil},
		"Ready": {"it can be used from now on",
			update(wharf("a", "main"), with(wharf("a", "main"), []string{FinalizerName}, false)),
			[]string{"a/one", "a/two"}},
		"Spec": {"connect anew", update(generation(wharf("b", "main"), 1), generation(wharf("b", "main"), 2)),
			[]string{"b/one"}},
		"Status": {"nothing for its users", update(wharf("a", "main"), counted(wharf("a", "main"))), nil},
		"Unused": {"nobody", update(generation(wharf("c", "main"), 1), generation(wharf("c", "main"), 2)), nil},
		"Deleted": {"nothing can be done", func(q queue) {
			h.Delete(t.Context(),
				event.DeleteEvent{Object: wharf("a", "main")}, q)
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
	if _, err := EnqueueUsers(c, Kinds{}, &Boat{}); err == nil {
		t.Error("EnqueueUsers(...) without kinds succeeded")
	}
	if _, err := EnqueueUsers(c, kinds, &Raft{}); err == nil {
		t.Error("EnqueueUsers(...) for an unregistered kind succeeded")
	}
}
