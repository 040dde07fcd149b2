package apiserver_test

import (
	"testing"
	"time"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	clocktesting "k8s.io/utils/clock/testing"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/sim/apiserver"
)

// TestCollectGarbage: the dependents of objects that no longer exist are deleted, as the garbage collector of
// Kubernetes deletes them.
func TestCollectGarbage(t *testing.T) {
	reference := func(kind, name string, uid types.UID) metav1.OwnerReference {
		return metav1.OwnerReference{APIVersion: "v1", Kind: kind, Name: name, UID: uid}
	}
	owner, other := func(uid types.UID) metav1.OwnerReference { return reference("ConfigMap", "owner", uid) },
		func(uid types.UID) metav1.OwnerReference { return reference("Secret", "other", uid) }
	cases := map[string]struct {
		reason string
		refs   func(owner, other types.UID) []metav1.OwnerReference
		keep   []string // finalizers of the dependent
		delete bool     // the owner
		want   []string // "-": removed; "deleting": it has a finalizer; else the kinds of its owners
	}{
		"NoOwner": {"an object without owners is nobody's dependent",
			func(types.UID, types.UID) []metav1.OwnerReference { return nil }, nil, true, nil},
		"OwnerExists": {"the owner is there",
			func(o, _ types.UID) []metav1.OwnerReference { return []metav1.OwnerReference{owner(o)} }, nil, false,
			[]string{"ConfigMap"}},
		"OwnerGone": {"the owner is gone",
			func(o, _ types.UID) []metav1.OwnerReference { return []metav1.OwnerReference{owner(o)} }, nil, true,
			[]string{"-"}},
		"OwnerReplaced": {"an object of the same name and another UID is another object",
			func(types.UID, types.UID) []metav1.OwnerReference { return []metav1.OwnerReference{owner("earlier")} }, nil,
			false, []string{"-"}},
		"Finalizer": {"a finalizer of the dependent is respected",
			func(o, _ types.UID) []metav1.OwnerReference { return []metav1.OwnerReference{owner(o)} },
			[]string{"example.org/keep"}, true, []string{"deleting"}},
		"OneOfTwoGone": {"the reference to the owner that is gone is removed",
			func(o, p types.UID) []metav1.OwnerReference { return []metav1.OwnerReference{owner(o), other(p)} }, nil, true,
			[]string{"Secret"}},
		"UnknownKind": {"whether an owner of an unknown kind exists is not known",
			func(types.UID, types.UID) []metav1.OwnerReference {
				return []metav1.OwnerReference{{APIVersion: "example.org/v1", Kind: "Ship", Name: "owner", UID: "u"}}
			}, nil, true, []string{"Ship"}},
	}
	for name, c := range cases {
		t.Run(name, func(t *testing.T) {
			scheme := runtime.NewScheme()
			if err := corev1.AddToScheme(scheme); err != nil {
				t.Fatal(err)
			}
			s := apiserver.New(scheme, clocktesting.NewFakePassiveClock(time.Unix(1000, 0)))
			api := s.Client()
			made := func(o client.Object) client.Object {
				o.SetNamespace("ns")
				if err := api.Create(t.Context(), o); err != nil {
					t.Fatal(err)
				}

				return o
			}
			named := func(name string) metav1.ObjectMeta { return metav1.ObjectMeta{Name: name} }
			owner := made(&corev1.ConfigMap{ObjectMeta: named("owner")})
			other := made(&corev1.Secret{ObjectMeta: named("other")})
			dependent := &corev1.Secret{ObjectMeta: named("dependent")}
			dependent.Finalizers, dependent.OwnerReferences = c.keep, c.refs(owner.GetUID(), other.GetUID())
			uid := made(dependent).GetUID()
			made(&corev1.Secret{ObjectMeta: metav1.ObjectMeta{Name: "dependent-of-dependent",
				OwnerReferences: []metav1.OwnerReference{reference("Secret", "dependent", uid)}}})
			if c.delete {
				if err := api.Delete(t.Context(), owner); err != nil {
					t.Fatal(err)
				}
			}

			if err := s.CollectGarbage(); err != nil {
				t.Fatal(err)
			}

			var got []string
			kind := corev1.SchemeGroupVersion.WithKind("Secret")
			switch o := s.Stored(kind, types.NamespacedName{Namespace: "ns", Name: "dependent"}); {
			case o == nil:
				got = []string{"-"}
			case o.GetDeletionTimestamp() != nil:
				got = []string{"deleting"}
			default:
				for _, ref := range o.GetOwnerReferences() {
					got = append(got, ref.Kind)
				}
			}
			if diff := cmp.Diff(c.want, got); diff != "" {
				t.Errorf("%s: -want +got:\n%s", c.reason, diff)
			}
			second := s.Stored(kind, types.NamespacedName{Namespace: "ns", Name: "dependent-of-dependent"})
			if gone := len(got) == 1 && got[0] == "-"; gone != (second == nil) {
				t.Errorf("the dependent is gone: %t, and its own dependent: %t", gone, second == nil)
			}
		})
	}
}
