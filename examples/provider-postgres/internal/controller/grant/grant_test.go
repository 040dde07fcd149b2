package grant_test

import (
	"context"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"

	"github.com/moorage-dev/moorage/examples/provider-postgres/apis/v1alpha1"
	"github.com/moorage-dev/moorage/examples/provider-postgres/internal/controller/grant"
	"github.com/moorage-dev/moorage/examples/provider-postgres/internal/pgtest"
)

// aged returns a Grant for the role of the samples that was created in this second.
func aged(name string, uid types.UID, second int64, privileges ...v1alpha1.Privilege) *v1alpha1.Grant {
	out := object("sample")
	out.Name, out.UID, out.CreationTimestamp = name, uid, metav1.NewTime(time.Unix(second, 0))
	out.Spec.ForProvider.Privileges = privileges

	return out
}

// idle returns variants of a Grant that does not change privileges now. One with the finalizer may have granted some.
func idle(of *v1alpha1.Grant) map[string]*v1alpha1.Grant {
	out := map[string]*v1alpha1.Grant{}
	for name, change := range map[string]func(*v1alpha1.Grant){
		"Paused": func(g *v1alpha1.Grant) {
			g.Annotations = map[string]string{meta.AnnotationKeyReconciliationPaused: "true"}
		},
		"EmptyList":   func(g *v1alpha1.Grant) { g.Spec.ManagementPolicies = commonv1.ManagementPolicies{} },
		"ObserveOnly": func(g *v1alpha1.Grant) { g.Spec.ManagementPolicies = commonv1.ManagementPolicies{"Observe"} },
		"ObserveByKey": func(g *v1alpha1.Grant) {
			g.Annotations = map[string]string{meta.AnnotationKeyManagementPolicy: meta.ManagementPolicyObserve}
		},
		"PausedLater": func(g *v1alpha1.Grant) {
			g.Annotations = map[string]string{meta.AnnotationKeyReconciliationPaused: "true"}
			meta.AddFinalizer(g, managed.FinalizerName)
		},
	} {
		out[name] = of.DeepCopy()
		out[name].Finalizers = nil
		change(out[name])
	}

	return out
}

// TestOldestGrantOwns has two Grants for one pair: the older one owns the privileges until it is gone.
func TestOldestGrantOwns(t *testing.T) {
	server, ok := pgtest.Start(t)
	if !ok {
		return
	}
	for _, statement := range []string{"CREATE ROLE clerk", "CREATE DATABASE shop OWNER provider"} {
		if err := server.Exec(t.Context(), statement); err != nil {
			t.Fatal(err)
		}
	}
	older, newer := aged("older", "b", 1, "CONNECT"), aged("newer", "a", 2, "CREATE")
	all := []v1alpha1.Grant{*newer, *older}
	link := pgtest.NewLinker(t, pgtest.Config(server, nil))
	link.AllGrants = func() []v1alpha1.Grant { return all }
	client := func(mg *v1alpha1.Grant) managed.TypedExternalClient[*v1alpha1.Grant] {
		c, err := grant.NewConnector(link, "cluster").Connect(t.Context(), mg)
		if err != nil {
			t.Fatal(err)
		}

		return c
	}
	owned := func(mg *v1alpha1.Grant, want managed.Owner) {
		t.Helper()
		if seen, err := client(mg).Observe(t.Context(), mg); err != nil || !seen.ResourceExists || seen.Owner != want {
			t.Errorf("%s: got %+v, %v, want the owner %v", mg.Name, seen, err, want)
		}
	}
	if err := client(newer).Create(t.Context(), newer); !external.IsNotCreated(err) {
		t.Errorf("a creation for the newer one: got %v", err)
	}
	if err := client(older).Create(t.Context(), older); err != nil {
		t.Fatal(err)
	}
	owned(older, managed.OwnerUnknown)
	owned(newer, managed.OwnerOther)

	all = []v1alpha1.Grant{*newer}
	owned(newer, managed.OwnerUnknown)

	// A change that follows an Observe from before the older one appeared.
	all = []v1alpha1.Grant{*newer, *older}
	for _, change := range []func(context.Context, *v1alpha1.Grant) error{client(newer).Update, client(newer).Delete} {
		if err := change(t.Context(), newer); err == nil || !strings.Contains(err.Error(), "older is older") {
			t.Errorf("a change of what the older one owns: got %v", err)
		}
	}
	owned(older, managed.OwnerUnknown)

	for name, idle := range idle(older) {
		all = []v1alpha1.Grant{*newer, *idle}
		want := managed.OwnerUnknown
		if meta.FinalizerExists(idle, managed.FinalizerName) {
			want = managed.OwnerOther
		}
		t.Run(name, func(t *testing.T) { owned(newer, want) })
	}

	again := aged("again", "c", 2, "CONNECT") // of the same second
	all = []v1alpha1.Grant{*newer, *again}
	owned(newer, managed.OwnerUnknown)
	owned(again, managed.OwnerOther)
}
