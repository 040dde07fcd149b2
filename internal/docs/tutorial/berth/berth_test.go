package berth_test

import (
	"context"
	"net/http/httptest"
	"testing"
	"time"

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

// newOffice opens an office for a test.
func newOffice(t *testing.T) harbour.Client {
	t.Helper()
	server := httptest.NewServer(&harbour.Fake{Token: "secret"})
	t.Cleanup(server.Close)

	return harbour.Client{URL: server.URL, Token: "secret"}
}

// pass returns the client of a pass, whose stamp is "us".
func pass(t *testing.T, office harbour.Client) managed.TypedExternalClient[*v1alpha1.Berth] {
	t.Helper()
	us := func(*v1alpha1.Berth) managed.Stamp { return "us" }
	c, err := berth.Connector{Harbour: office, Stamp: us}.Connect(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}

	return c
}

// TestObserve asks the client itself, over HTTP.
func TestObserve(t *testing.T) {
	ours := harbour.Berth{Name: "a", Metres: 30, Note: "us", Ship: "Victory"}
	shorter, theirs, nobodys := ours, ours, ours
	shorter.Metres, theirs.Note, nobodys.Note = 20, "them", ""
	cases := map[string]struct {
		reason  string
		outside harbour.Berth
		adopted bool
		want    managed.ExternalObservation
	}{
		"None":    {"There is no berth of the name.", harbour.Berth{Name: "b"}, false, managed.ExternalObservation{}},
		"Same":    {"It is as desired, and ours.", ours, false, observed(true, managed.OwnerOurs)},
		"Shorter": {"It is to be changed.", shorter, false, observed(false, managed.OwnerOurs)},
		"Foreign": {"It is somebody else's: even if it is as desired, it lacks our stamp.", theirs, false, managed.ExternalObservation{ResourceExists: true, Owner: managed.OwnerOther, OwnerStamp: "them"}},
		"Nobody":  {"It was there before, without a stamp. That it matches is for the adoption policy.", nobodys, false, observed(true, managed.OwnerNobody)},
		"Adopted": {"It was there before, and is to get the stamp now.", nobodys, true, observed(false, managed.OwnerNobody)},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			office, b := newOffice(t), newBerth("default")
			if err := office.Create(t.Context(), tc.outside); err != nil {
				t.Fatal(err)
			}
			if tc.adopted {
				meta.SetExternalCreateSucceeded(b, time.Unix(1, 0))
			}
			got, err := pass(t, office).Observe(t.Context(), b)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
			if shown := b.Status.Ship != ""; shown != (got.ResourceExists && got.Owner != managed.OwnerOther) {
				t.Errorf("%s\nThe status shows %+v", tc.reason, b.Status)
			}
		})
	}
}

func observed(upToDate bool, owner managed.Owner) managed.ExternalObservation {
	return managed.ExternalObservation{ResourceExists: true, ResourceUpToDate: upToDate, Owner: owner}
}

// TestOwner: a berth that does not bear our stamp is changed only if it is as Observe saw it.
func TestOwner(t *testing.T) {
	const unseen = "unseen"
	for name, tc := range map[string]struct {
		seen, note string
		allowed    bool
		reason     string
	}{
		"Ours":       {"us", "us", true, "It is ours."},
		"OursAgain":  {"them", "us", true, "It is ours by now."},
		"NotLooked":  {unseen, "them", false, "It is another's, and nobody has decided to have it."},
		"NotSeen":    {unseen, "", false, "It may have been made a moment ago."},
		"Forced":     {"them", "them", true, "It is another's, and the reconciler, who knows that, takes it over by force."},
		"Adopted":    {"", "", true, "It is nobody's, and the reconciler, who knows that, adopts it."},
		"TakenSince": {"us", "them", false, "It was ours."},
		"ThirdOne":   {"them", "third", false, "It is not the one that the reconciler decided to have."},
	} {
		t.Run(name, func(t *testing.T) {
			for _, verb := range []string{"Update", "Delete"} {
				office := newOffice(t)
				c, b, found := pass(t, office), newBerth("default"), harbour.Berth{Name: "a", Metres: 20, Note: tc.seen}
				if err := office.Create(t.Context(), found); err != nil {
					t.Fatal(err)
				}
				if tc.seen != unseen {
					if _, err := c.Observe(t.Context(), b); err != nil {
						t.Fatal(err)
					}
				}
				found.Note = tc.note
				if err := office.Update(t.Context(), found); err != nil {
					t.Fatal(err)
				}
				change, want := c.Update, harbour.Berth{Name: "a", Metres: 30, Note: "us"}
				if verb == "Delete" {
					change, want = c.Delete, harbour.Berth{}
				}
				if !tc.allowed {
					want = found
				}
				err := change(t.Context(), b)
				left, _ := office.Get(t.Context(), "a")
				if (err == nil) != tc.allowed || left != want {
					t.Errorf("%s\n%s: %v; the berth is %+v afterwards, want %+v", tc.reason, verb, err, left, want)
				}
			}
		})
	}
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
