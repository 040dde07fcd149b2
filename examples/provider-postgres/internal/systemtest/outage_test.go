package systemtest

import (
	"context"
	"flag"
	"fmt"
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/resource"

	"github.com/moorage-dev/moorage/examples/provider-postgres/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-postgres/internal/testenv"
)

var (
	databases = flag.Int("databases", 20, "how many databases there are in an outage")
	down      = flag.Duration("down", 0, "how long the server is down at least")
)

// TestOutage stops the server, and makes it silent: it accepts connections and never answers. The configuration says so
// once, by a condition and an event. Each object for which a user waits says so once, by a condition. Objects at rest
// say nothing.
func TestOutage(t *testing.T) {
	w, ok := testenv.Start(t)
	if !ok {
		return
	}
	rest := make([]resource.Managed, *databases)
	for i := range rest {
		rest[i] = database(w, fmt.Sprintf("rest-%03d", i))
		create(t, w, rest[i])
	}
	for _, mg := range rest {
		w.Ready(t, mg)
	}
	for _, outage := range []struct {
		name  string
		begin func(context.Context) (end func(context.Context) error, err error)
	}{
		{"stopped", func(context.Context) (func(context.Context) error, error) {
			w.Server.Suspend()

			return w.Server.Resume, nil
		}},
		{"silent", w.Proxy.Silence},
	} {
		t.Run(outage.name, func(t *testing.T) { fails(t, w, rest, outage.name, outage.begin) })
	}
	for _, mg := range rest {
		remove(t, w, mg)
	}
}

// fails has the server fail, and users create, change and delete objects meanwhile.
func fails(
	t *testing.T, w testenv.World, rest []resource.Managed, name string,
	begin func(context.Context) (func(context.Context) error, error),
) {
	created, changed, deleted := database(w, name+"-created"), database(w, name+"-changed"), database(w, name+"-deleted")
	for _, mg := range []resource.Managed{changed, deleted} {
		create(t, w, mg)
		w.Ready(t, mg)
	}
	observed(t, w, 2**databases) // what is left to be written has been
	before := warnings(t, w)
	w.Ledger.Reset()
	end, err := begin(t.Context())
	if err != nil {
		t.Fatal(err)
	}
	ended := time.After(*down)
	said := connected(t, w, metav1.ConditionFalse, commonv1.ReasonExternalSystemUnavailable)
	create(t, w, created)
	patch := ctrlclient.MergeFrom(changed.DeepCopy())
	changed.Spec.ForProvider.ConnectionLimit = new(int32(3))
	if err := w.Kube.Patch(t.Context(), changed, patch); err != nil {
		t.Fatal(err)
	}
	if err := w.Kube.Delete(t.Context(), deleted); err != nil {
		t.Fatal(err)
	}
	waiting := []resource.Managed{created, changed, deleted}
	for _, mg := range waiting {
		says(t, w, mg, commonv1.ReasonExternalSystemUnavailable)
	}
	<-ended
	w.Until(t, "the configuration has its event", func() bool { return len(since(before, warnings(t, w))) > 0 })
	for _, mg := range waiting {
		if writes := written(w, "databases/status", mg.GetName()); writes != 1 {
			t.Errorf("the status of %s was written %d times in the outage, want 1", mg.GetName(), writes)
		}
	}
	still := connected(t, w, metav1.ConditionFalse, commonv1.ReasonExternalSystemUnavailable)
	if diff := cmp.Diff(said, still); diff != "" {
		t.Errorf("the condition of the configuration was written again: -first, +last:\n%s", diff)
	}
	oneWarning(t, w, before)

	if err := end(t.Context()); err != nil {
		t.Fatal(err)
	}
	connected(t, w, metav1.ConditionTrue, commonv1.ReasonAvailable)
	w.Ready(t, created)
	w.Until(t, "the change is made", func() bool {
		return w.Kube.Get(t.Context(), ctrlclient.ObjectKeyFromObject(changed), changed) == nil &&
			changed.Status.AtProvider.ConnectionLimit != nil && *changed.Status.AtProvider.ConnectionLimit == 3
	})
	w.Gone(t, deleted)
	oneWarning(t, w, before)
	for _, mg := range rest {
		w.Spent(t, mg.GetName(), "the outage", 0)
	}
	remove(t, w, created)
	remove(t, w, changed)
}

// oneWarning fails unless the one warning since is that of the configuration.
func oneWarning(t *testing.T, w testenv.World, before map[string]int) {
	t.Helper()
	want := map[string]int{"default ConnectionUnavailable": 1}
	if diff := cmp.Diff(want, since(before, warnings(t, w))); diff != "" {
		t.Errorf("warnings: -want, +got:\n%s", diff)
	}
}

// written returns how many requests were sent for an object since the ledger was reset.
func written(w testenv.World, resource, name string) int {
	n := 0
	for _, r := range w.Ledger.Objects() {
		if r.Resource == resource && r.Name == name {
			n++
		}
	}

	return n
}

func database(w testenv.World, name string) *v1alpha1.Database {
	return &v1alpha1.Database{ObjectMeta: metav1.ObjectMeta{Namespace: w.Namespace, Name: name}}
}

// connected waits for the condition Connected of the configuration, and returns it.
func connected(
	t *testing.T, w testenv.World, status metav1.ConditionStatus, reason commonv1.ConditionReason,
) (is commonv1.Condition) {
	t.Helper()
	w.Until(t, fmt.Sprintf("the configuration is Connected=%s by %s", status, reason), func() bool {
		config := &v1alpha1.ProviderConfig{}
		key := ctrlclient.ObjectKey{Namespace: w.Namespace, Name: "default"}
		if w.Kube.Get(t.Context(), key, config) != nil {
			return false
		}
		is = config.GetCondition(commonv1.TypeConnected)

		return is.Status == status && is.Reason == reason
	})

	return is
}

// says waits until the condition Synced of an object has a reason, for its current generation.
func says(t *testing.T, w testenv.World, mg resource.Managed, reason commonv1.ConditionReason) {
	t.Helper()
	w.Until(t, fmt.Sprintf("%s is Synced by %s", mg.GetName(), reason), func() bool {
		if w.Kube.Get(t.Context(), ctrlclient.ObjectKeyFromObject(mg), mg) != nil {
			return false
		}
		c := mg.GetCondition(commonv1.TypeSynced)

		return c.Reason == reason && c.ObservedGeneration == mg.GetGeneration()
	})
}

// warnings returns how often each Warning was emitted, by the name of its object and its reason.
func warnings(t *testing.T, w testenv.World) map[string]int {
	t.Helper()
	events := &corev1.EventList{}
	if err := w.Kube.List(t.Context(), events, ctrlclient.InNamespace(w.Namespace)); err != nil {
		t.Fatal(err)
	}
	out := map[string]int{}
	for _, e := range events.Items {
		if e.Type != corev1.EventTypeWarning {
			continue
		}
		times := max(1, int(e.Count))
		if e.Series != nil {
			times = int(e.Series.Count)
		}
		out[e.InvolvedObject.Name+" "+e.Reason] += times
	}

	return out
}

// since returns by how much counts have grown.
func since(before, now map[string]int) map[string]int {
	out := map[string]int{}
	for key, n := range now {
		if n > before[key] {
			out[key] = n - before[key]
		}
	}

	return out
}
