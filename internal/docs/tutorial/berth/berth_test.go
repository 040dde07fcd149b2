package berth_test

import (
	"context"
	"net/http/httptest"
	"testing"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlfake "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/docs/tutorial/api/v1alpha1"
	"github.com/moorage-dev/moorage/internal/docs/tutorial/berth"
	"github.com/moorage-dev/moorage/internal/docs/tutorial/harbour"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
)

func newBerth(namespace string) *v1alpha1.Berth {
	b := &v1alpha1.Berth{ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a"}, Spec: v1alpha1.BerthSpec{Metres: 30}}
	meta.SetExternalName(b, "a")

	return b
}

// TestObserve asks the client itself, over HTTP.
func TestObserve(t *testing.T) {
	cases := map[string]struct {
		reason  string
		outside harbour.Berth
		want    managed.ExternalObservation
	}{
		"None":    {"There is no berth of the name.", harbour.Berth{Name: "b"}, managed.ExternalObservation{}},
		"Same":    {"It is as desired, and ours.", harbour.Berth{Name: "a", Metres: 30, Note: "us"}, observed(true, managed.OwnerOurs)},
		"Shorter": {"It is to be changed.", harbour.Berth{Name: "a", Metres: 20, Note: "us"}, observed(false, managed.OwnerOurs)},
		"Foreign": {"It is somebody else's.", harbour.Berth{Name: "a", Metres: 30, Note: "them"}, observed(true, managed.OwnerOther)},
		"Nobody":  {"It was there before, without a mark.", harbour.Berth{Name: "a", Metres: 30}, observed(true, managed.OwnerNobody)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			server := httptest.NewServer(&harbour.Fake{Token: "secret"})
			defer server.Close()
			office := harbour.Client{URL: server.URL, Token: "secret"}
			if err := office.Create(t.Context(), tc.outside); err != nil {
				t.Fatal(err)
			}
			c := berth.Connector{Harbour: office, Stamp: func(*v1alpha1.Berth) managed.Stamp { return "us" }}
			b := newBerth("default")
			e, err := c.Connect(t.Context(), b)
			if err != nil {
				t.Fatal(err)
			}
			got, err := e.Observe(t.Context(), b)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
		})
	}
}

func observed(upToDate bool, owner managed.Owner) managed.ExternalObservation {
	return managed.ExternalObservation{ResourceExists: true, ResourceUpToDate: upToDate, Owner: owner}
}

// TestRefusal makes a pass over a berth with a client made of functions: what
// becomes of an error that the client calls terminal?
func TestRefusal(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	b := newBerth("default")
	api := ctrlfake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(b).WithObjects(b).Build()
	refusing := managed.ExternalClientFns{
		ObserveFn: func(context.Context, resource.Managed) (managed.ExternalObservation, error) {
			return managed.ExternalObservation{}, nil
		},
		CreateFn: func(context.Context, resource.Managed) error {
			return external.Terminal("BerthRefused", harbour.ErrRefused)
		},
	}
	r := managed.NewReconciler(&fake.Manager{Client: api, Scheme: scheme}, v1alpha1.BerthKind,
		managed.WithDeterministicExternalName(true),
		managed.WithExternalConnecter(managed.ExternalConnectorFn(
			func(context.Context, resource.Managed) (managed.ExternalClient, error) { return refusing, nil })))

	key := client.ObjectKeyFromObject(b)
	if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: key}); err != nil {
		t.Fatalf("a terminal error is told, not returned: %v", err)
	}
	if err := api.Get(t.Context(), key, b); err != nil {
		t.Fatal(err)
	}
	synced := b.GetCondition(commonv1.TypeSynced)
	want := commonv1.Condition{
		Type: commonv1.TypeSynced, Status: metav1.ConditionFalse, Reason: "BerthRefused",
		Message: "create failed: the harbour does not have such a berth to give", LastTransitionTime: synced.LastTransitionTime,
	}
	if diff := cmp.Diff(want, synced); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}
