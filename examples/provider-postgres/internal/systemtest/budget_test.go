package systemtest

import (
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	ctrlclient "sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/resource"

	"github.com/moorage-dev/moorage/examples/provider-postgres/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-postgres/internal/testenv"
)

// A kind is what the budget test must know of one kind.
type kind struct {
	name   string
	create int // requests until an object is ready
	object func(meta metav1.ObjectMeta) resource.Managed
	change func(mg resource.Managed)
}

func kinds() []kind {
	return []kind{
		{"databases", 2,
			func(m metav1.ObjectMeta) resource.Managed { return &v1alpha1.Database{ObjectMeta: m} },
			func(mg resource.Managed) {
				mg.(*v1alpha1.Database).Spec.ForProvider.ConnectionLimit = new(int32(5))
			}},
		// The third is the status of the pass that sets the password.
		{"roles", 3,
			func(m metav1.ObjectMeta) resource.Managed {
				return &v1alpha1.Role{ObjectMeta: m, Spec: v1alpha1.RoleSpec{
					WriteConnectionSecretToRef: &v1alpha1.SecretReference{Name: "connection-of-" + m.Name},
				}}
			},
			func(mg resource.Managed) { mg.(*v1alpha1.Role).Spec.ForProvider.CreateDatabase = true }},
		{"grants", 2,
			func(m metav1.ObjectMeta) resource.Managed {
				return &v1alpha1.Grant{ObjectMeta: m, Spec: v1alpha1.GrantSpec{ForProvider: v1alpha1.GrantParameters{
					Role: new("reader"), Database: new("shop"), Privileges: []v1alpha1.Privilege{"CONNECT"},
				}}}
			},
			func(mg resource.Managed) {
				mg.(*v1alpha1.Grant).Spec.ForProvider.Privileges = []v1alpha1.Privilege{"CONNECT", "CREATE"}
			}},
		{"schemas", 2,
			func(m metav1.ObjectMeta) resource.Managed {
				return &v1alpha1.Schema{ObjectMeta: m, Spec: v1alpha1.SchemaSpec{ForProvider: v1alpha1.SchemaParameters{
					Database: new("shop"),
				}}}
			},
			func(mg resource.Managed) { mg.(*v1alpha1.Schema).Spec.ForProvider.Owner = new("reader") }},
	}
}

// TestBudget runs the provider on a real API server, with the permissions of its role only, and counts its
// requests: two or three until an object is ready, none for anything in steady state, one for a change, one for its
// deletion.
func TestBudget(t *testing.T) {
	w, ok := testenv.Start(t)
	if !ok {
		return
	}
	if err := w.Server.Exec(t.Context(), "CREATE ROLE reader"); err != nil {
		t.Fatal(err)
	}
	if err := w.Server.Exec(t.Context(), "CREATE DATABASE shop OWNER provider"); err != nil {
		t.Fatal(err)
	}
	for _, k := range kinds() {
		t.Run(k.name, func(t *testing.T) { budget(t, w, k) })
	}
}

func budget(t *testing.T, w testenv.World, k kind) {
	// When the first object is deleted, the caches are filled, and requests of the start are sent.
	first := k.object(metav1.ObjectMeta{Namespace: w.Namespace, Name: "first"})
	create(t, w, first)
	w.Ready(t, first)
	remove(t, w, first)
	w.Ledger.Reset()

	mg := k.object(metav1.ObjectMeta{Namespace: w.Namespace, Name: "second"})
	create(t, w, mg)
	w.Ready(t, mg)
	observed(t, w, 20)
	w.GuardReads(t, "creation, and twenty observations")
	w.Spent(t, mg.GetName(), "creation, and twenty observations", k.create)
	w.Until(t, "the configuration counts the object", func() bool {
		config := &v1alpha1.ProviderConfig{}

		key := ctrlclient.ObjectKey{Namespace: w.Namespace, Name: "default"}

		return w.Kube.Get(t.Context(), key, config) == nil && config.Status.Users == 1
	})

	w.Ledger.Reset()
	observed(t, w, 20)
	w.Idle(t, "twenty observations")

	before := mg.GetGeneration()
	k.change(mg)
	if err := w.Kube.Update(t.Context(), mg); err != nil {
		t.Fatal(err)
	}
	w.Ledger.Reset()
	w.Until(t, "the change is done", func() bool {
		return w.Kube.Get(t.Context(), ctrlclient.ObjectKeyFromObject(mg), mg) == nil && mg.GetGeneration() > before &&
			mg.GetCondition(commonv1.TypeUpToDate).Status == metav1.ConditionTrue &&
			mg.(interface{ GetObservedGeneration() int64 }).GetObservedGeneration() == mg.GetGeneration()
	})
	observed(t, w, 5)
	w.Spent(t, mg.GetName(), "a change", 1)

	w.Ledger.Reset()
	remove(t, w, mg)
	w.GuardReads(t, "deletion", "customresourcedefinitions "+k.name+".postgres.moorage.dev")
	w.Spent(t, mg.GetName(), "deletion", 1)
}

func create(t *testing.T, w testenv.World, mg resource.Managed) {
	t.Helper()
	if err := w.Kube.Create(t.Context(), mg); err != nil {
		t.Fatal(err)
	}
}

func remove(t *testing.T, w testenv.World, mg resource.Managed) {
	t.Helper()
	if err := w.Kube.Delete(t.Context(), mg); err != nil {
		t.Fatal(err)
	}
	w.Gone(t, mg)
}

// observed waits until the server has answered so many more reads.
func observed(t *testing.T, w testenv.World, times int) {
	t.Helper()
	reads := func() int {
		text, err := w.Server.Log()
		if err != nil {
			t.Fatal(err)
		}

		// A read of a database has two statements.
		return strings.Count(text, "execute <unnamed>") - strings.Count(text, "SELECT EXISTS (SELECT FROM pg_stat_activity")
	}
	until := reads() + times
	w.Until(t, "it was observed", func() bool { return reads() >= until })
}
