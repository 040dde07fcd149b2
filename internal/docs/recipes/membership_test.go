package recipes

import (
	"context"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"

	"github.com/moorage-dev/moorage/internal/docs/recipes/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/conformance"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// memberServer has members of groups.
type memberServer struct{ *memory }

func (s memberServer) IsMember(ctx context.Context, group, name string) (bool, error) {
	_, err := s.Get(ctx, group+"."+name)
	if errors.Is(err, ErrNotFound) {
		return false, nil
	}

	return err == nil, err
}

func (s memberServer) Add(ctx context.Context, group, name string) error {
	return s.request(ctx, func() error {
		s.records[group+"."+name] = Record{Name: "admins." + name}

		return nil
	})
}

func (s memberServer) Remove(ctx context.Context, group, name string) error {
	return s.request(ctx, func() error {
		delete(s.records, group+"."+name)

		return nil
	})
}

func membership(name string) *v1alpha1.Membership {
	return &v1alpha1.Membership{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "admins." + name},
		Spec:       v1alpha1.MembershipSpec{Group: "admins", User: name},
	}
}

// TestMembersConform runs the client with the kit.
func TestMembersConform(t *testing.T) {
	m := newMemory()
	objects := fake.NewClientBuilder().WithScheme(scheme(t)).Build()
	conformance.Run(t, conformance.Suite{
		Kind: v1alpha1.MembershipKind, Scheme: scheme(t), Class: conformance.Named, Probe: probe{m},
		NewConnecter: connecter(v1alpha1.MembershipKind,
			func(managed.Stamp) managed.TypedExternalClient[*v1alpha1.Membership] {
				return &MemberClient{API: memberServer{m}, Objects: objects}
			}),
		Options: []managed.ReconcilerOption{managed.WithCreationGracePeriod(0)},
		Samples: []resource.Managed{membership("ann"), membership("ann-2")},
	})
}

// TestTheOldestObjectOwnsThePair has two objects for one pair: one owns it, until it is gone.
func TestTheOldestObjectOwnsThePair(t *testing.T) {
	older, newer := membership("ann"), membership("ann")
	older.UID, newer.UID, newer.Name = "b", "a", "again"
	older.CreationTimestamp = metav1.NewTime(time.Unix(1, 0))
	newer.CreationTimestamp = metav1.NewTime(time.Unix(2, 0))
	objects := fake.NewClientBuilder().WithScheme(scheme(t)).WithObjects(older, newer).Build()
	c := &MemberClient{API: memberServer{newMemory()}, Objects: objects}
	if err := c.Create(t.Context(), older); err != nil {
		t.Fatal(err)
	}
	check := func(m *v1alpha1.Membership, want managed.Owner) {
		t.Helper()
		if o, err := c.Observe(t.Context(), m); err != nil || !o.ResourceExists || o.Owner != want {
			t.Errorf("%s: got %v and %v, want %v", m.Name, o, err, want)
		}
	}
	check(older, managed.OwnerUnknown)
	check(newer, managed.OwnerOther)
	if err := objects.Delete(t.Context(), client.Object(older)); err != nil {
		t.Fatal(err)
	}
	check(newer, managed.OwnerUnknown)
}
