package bucket_test

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
	"github.com/moorage-dev/moorage/internal/docs/tutorial/bucket"
	"github.com/moorage-dev/moorage/internal/docs/tutorial/objectstore"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
)

func newBucket(namespace string) *v1alpha1.Bucket {
	b := &v1alpha1.Bucket{
		ObjectMeta: metav1.ObjectMeta{Namespace: namespace, Name: "a"},
		Spec:       v1alpha1.BucketSpec{QuotaGiB: 30},
	}
	meta.SetExternalName(b, "a")

	return b
}

// newStore starts a fake object store for a test.
func newStore(t *testing.T) objectstore.Client {
	t.Helper()
	server := httptest.NewServer(&objectstore.Fake{Token: "secret"})
	t.Cleanup(server.Close)

	return objectstore.Client{URL: server.URL, Token: "secret"}
}

// connect returns the client of a pass, whose stamp is "us".
func connect(t *testing.T, store objectstore.Client) managed.TypedExternalClient[*v1alpha1.Bucket] {
	t.Helper()
	us := func(*v1alpha1.Bucket) managed.Stamp { return "us" }
	c, err := bucket.Connector{Store: store, Stamp: us}.Connect(t.Context(), nil)
	if err != nil {
		t.Fatal(err)
	}

	return c
}

// TestObserve calls Observe over HTTP.
func TestObserve(t *testing.T) {
	ours := objectstore.Bucket{Name: "a", QuotaGiB: 30, Tag: "us", Objects: 3}
	smaller, foreign, unowned := ours, ours, ours
	smaller.QuotaGiB, foreign.Tag, unowned.Tag = 20, "them", ""
	cases := map[string]struct {
		reason  string
		exists  objectstore.Bucket
		adopted bool
		want    managed.ExternalObservation
	}{
		"NotFound": {
			"No bucket has the name.", objectstore.Bucket{Name: "b"}, false, managed.ExternalObservation{},
		},
		"UpToDate": {"It is as desired, and ours.", ours, false, observed(true, managed.OwnerOurs)},
		"Drifted":  {"Its quota is to be changed.", smaller, false, observed(false, managed.OwnerOurs)},
		"Foreign": {
			"It has another owner: even if it is as desired, it lacks our stamp.", foreign, false,
			managed.ExternalObservation{ResourceExists: true, Owner: managed.OwnerOther, OwnerStamp: "them"},
		},
		"Unowned": {
			"It has no stamp. The adoption policy may depend on whether it is as desired.", unowned, false,
			observed(true, managed.OwnerNone),
		},
		"Adopted": {
			"It was adopted, and lacks our stamp.", unowned, true, observed(false, managed.OwnerNone),
		},
	}
	for name, tc := range cases {
		t.Run(name, func(t *testing.T) {
			store, b := newStore(t), newBucket("default")
			if err := store.Create(t.Context(), tc.exists); err != nil {
				t.Fatal(err)
			}
			if tc.adopted {
				meta.SetExternalCreateSucceeded(b, time.Unix(1, 0))
			}
			got, err := connect(t, store).Observe(t.Context(), b)
			if err != nil {
				t.Fatal(err)
			}
			if diff := cmp.Diff(tc.want, got); diff != "" {
				t.Errorf("%s\n-want, +got:\n%s", tc.reason, diff)
			}
			if shown := b.Status.Objects != 0; shown != (got.ResourceExists && got.Owner != managed.OwnerOther) {
				t.Errorf("%s\nThe status is %+v", tc.reason, b.Status)
			}
		})
	}
}

func observed(upToDate bool, owner managed.Owner) managed.ExternalObservation {
	return managed.ExternalObservation{ResourceExists: true, ResourceUpToDate: upToDate, Owner: owner}
}

// TestOwner checks that a bucket without our stamp is changed only if it is as Observe saw it.
func TestOwner(t *testing.T) {
	const notObserved = "not observed"
	for name, tc := range map[string]struct {
		observed, current string // stamps
		allowed           bool
		reason            string
	}{
		"Ours":               {"us", "us", true, "It is ours."},
		"OursSince":          {"them", "us", true, "It is ours now."},
		"ForeignNotObserved": {notObserved, "them", false, "It has another owner, and nothing decided to take it over."},
		"UnownedNotObserved": {notObserved, "", false, "It may have been created a moment ago."},
		"Forced":             {"them", "them", true, "The reconciler knows its owner, and takes it over by force."},
		"Adopted":            {"", "", true, "The reconciler knows that it has no owner, and adopts it."},
		"ForeignSince":       {"us", "them", false, "It was ours when it was observed."},
		"OwnerChanged":       {"them", "third", false, "It is not the one that the reconciler decided to take over."},
	} {
		t.Run(name, func(t *testing.T) {
			for _, verb := range []string{"Update", "Delete"} {
				store, b := newStore(t), newBucket("default")
				c, found := connect(t, store), objectstore.Bucket{Name: "a", QuotaGiB: 20, Tag: tc.observed}
				if err := store.Create(t.Context(), found); err != nil {
					t.Fatal(err)
				}
				if tc.observed != notObserved {
					if _, err := c.Observe(t.Context(), b); err != nil {
						t.Fatal(err)
					}
				}
				found.Tag = tc.current
				if err := store.Update(t.Context(), found); err != nil {
					t.Fatal(err)
				}
				change, want := c.Update, objectstore.Bucket{Name: "a", QuotaGiB: 30, Tag: "us"}
				if verb == "Delete" {
					change, want = c.Delete, objectstore.Bucket{}
				}
				if !tc.allowed {
					want = found
				}
				err := change(t.Context(), b)
				left, _ := store.Get(t.Context(), "a")
				if (err == nil) != tc.allowed || left != want {
					t.Errorf("%s\n%s: %v; the bucket is %+v afterwards, want %+v", tc.reason, verb, err, left, want)
				}
			}
		})
	}
}

// TestTerminalError runs a pass with a client made of functions, and checks the condition that a terminal error of
// Create leads to.
func TestTerminalError(t *testing.T) {
	scheme := runtime.NewScheme()
	if err := v1alpha1.AddToScheme(scheme); err != nil {
		t.Fatal(err)
	}
	b := newBucket("default")
	api := ctrlfake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(b).WithObjects(b).Build()
	rejecting := managed.ExternalClientFns{
		ObserveFn: func(context.Context, resource.Managed) (managed.ExternalObservation, error) {
			return managed.ExternalObservation{}, nil
		},
		CreateFn: func(context.Context, resource.Managed) error {
			return external.Terminal("InvalidBucket", objectstore.ErrInvalid)
		},
	}
	r := managed.NewReconciler(&fake.Manager{Client: api, Scheme: scheme}, v1alpha1.BucketKind,
		managed.WithDeterministicExternalName(true),
		managed.WithExternalConnecter(managed.ExternalConnectorFn(
			func(context.Context, resource.Managed) (managed.ExternalClient, error) { return rejecting, nil })))

	key := client.ObjectKeyFromObject(b)
	if _, err := r.Reconcile(t.Context(), reconcile.Request{NamespacedName: key}); err != nil {
		t.Fatalf("a terminal error is reported in a condition, not returned: %v", err)
	}
	if err := api.Get(t.Context(), key, b); err != nil {
		t.Fatal(err)
	}
	synced := b.GetCondition(commonv1.TypeSynced)
	want := commonv1.Condition{
		Type: commonv1.TypeSynced, Status: metav1.ConditionFalse, Reason: "InvalidBucket",
		Message:            "create failed: the object store rejects the settings of the bucket",
		LastTransitionTime: synced.LastTransitionTime,
	}
	if diff := cmp.Diff(want, synced); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
}
