package providerconfig

import (
	"context"
	"fmt"
	"strings"
	"testing"
	"testing/synctest"
	"time"

	"github.com/google/go-cmp/cmp"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
)

func with[C Config](c C, finalizers []string, deleted bool) C {
	c.SetFinalizers(finalizers)
	if deleted {
		now := metav1.Now()
		c.SetDeletionTimestamp(&now)
	}
	c.SetLabels(map[string]string{"is": c.GetNamespace() + "/" + c.GetName()})

	return c
}

func problemOf(err error) string {
	for name, is := range map[string]func(error) bool{
		"invalid": IsInvalid, "missing": IsMissing, "leaving": IsLeaving, "not ready": IsNotReady,
	} {
		if is(err) {
			return name
		}
	}

	return ""
}

func TestGet(t *testing.T) {
	ours, other := []string{FinalizerName}, []string{"example.org/other"}
	world := []client.Object{
		with(tenant("a", "main"), ours, false),
		with(tenant("b", "main"), ours, false),
		with(tenant("a", "new"), nil, false),
		with(tenant("a", "leaving"), ours, true),
		with(tenant("a", "leaving-new"), other, true),
		with(clusterTenant("main"), ours, false),
		with(clusterTenant("leaving"), ours, true),
	}
	used := func(b *Bucket) *Bucket { b.Finalizers = other; return b }
	named := func(b *Bucket) *Bucket { meta.SetExternalName(b, "x"); return b }
	deleted := func(b *Bucket) *Bucket { now := metav1.Now(); b.DeletionTimestamp = &now; return b }
	for name, tc := range map[string]struct {
		reason  string
		bucket  *Bucket
		kinds   Kinds
		options []GetOption
		want    string
		problem string
		message string
	}{
		"Namespaced": {
			reason: "without a kind, the namespaced one", bucket: bucket("a", "x", "", "main"),
			want: "a/main",
		},
		"OwnNamespace": {
			reason: "of two with one name, that of the object's namespace",
			bucket: bucket("b", "x", "Tenant", "main"), want: "b/main",
		},
		"OtherNamespace": {
			reason: "never one of another namespace", bucket: bucket("c", "x", "", "main"),
			problem: "missing", message: "Tenant c/main does not exist",
		},
		"Cluster": {reason: "for all", bucket: bucket("c", "x", "ClusterTenant", "main"), want: "/main"},
		"ClusterMissing": {
			bucket: bucket("c", "x", "ClusterTenant", "none"), problem: "missing",
			message: "ClusterTenant none does not exist",
		},
		"OnlyCluster": {
			reason: "without a kind, the only one", bucket: bucket("c", "x", "", "main"),
			kinds: Kinds{Namespaced: (*Tenant)(nil), Cluster: &ClusterTenant{}}, want: "/main",
		},
		"OnlyNamespaced": {
			bucket: bucket("a", "x", "ClusterTenant", "main"), kinds: Kinds{Namespaced: &Tenant{}},
			problem: "invalid",
			message: `the object names a ProviderConfig of an unknown kind: "ClusterTenant"`,
		},
		"NoReference": {
			bucket: bucket("a", "x", "", ""), problem: "invalid",
			message: "the object names no ProviderConfig",
		},
		"NoNamespace": {
			bucket: bucket("", "x", "", "main"), problem: "invalid",
			message: "an object without a namespace cannot use a Tenant, which has one",
		},
		"NoNamespaceAtAll": {bucket: bucket("", "x", "ClusterTenant", "main"), want: "/main"},
		"LongKind": {
			reason: "bounded", bucket: bucket("a", "x", strings.Repeat("k", 500), "main"),
			problem: "invalid",
			message: `the object names a ProviderConfig of an unknown kind: "` + strings.Repeat("k", 64) + `"`,
		},
		"Leaving": {
			bucket: bucket("a", "x", "", "leaving"), problem: "leaving",
			message: "Tenant a/leaving is being deleted",
		},
		"LeavingUsed": {reason: "it has used it", bucket: used(bucket("a", "x", "", "leaving")), want: "a/leaving"},
		"LeavingNamed": {
			reason: "a name proves no use", bucket: named(bucket("a", "x", "ClusterTenant", "leaving")),
			problem: "leaving", message: "ClusterTenant leaving is being deleted",
		},
		"LeavingBoth": {
			reason: "to be deleted it needs it", bucket: deleted(bucket("a", "x", "", "leaving")),
			want: "a/leaving",
		},
		"LeavingUnguarded": {
			bucket: bucket("a", "x", "", "leaving-new"), problem: "leaving",
			message: "Tenant a/leaving-new is being deleted",
		},
		"NotReady": {
			bucket: bucket("a", "x", "", "new"), problem: "not ready",
			message: "Tenant a/new is not ready: it lacks the finalizer that protects it while it is in use",
		},
		"NotReadyUsed": {
			reason: "it was used before there was protection",
			bucket: used(bucket("a", "x", "", "new")), want: "a/new",
		},
		"Unprotected": {bucket: bucket("a", "x", "", "new"), options: []GetOption{WithoutProtection()}, want: "a/new"},
		"UnprotectedLeave": {
			bucket: bucket("a", "x", "", "leaving"), options: []GetOption{WithoutProtection()},
			want: "a/leaving",
		},
	} {
		t.Run(name, func(t *testing.T) {
			synctest.Test(t, func(t *testing.T) {
				c := fake.NewClientBuilder().WithScheme(newScheme()).WithObjects(world...).Build()
				k := kinds
				if tc.kinds != (Kinds{}) {
					k = tc.kinds
				}
				got, err := Get(t.Context(), c, tc.bucket, k, tc.options...)
				if problem := problemOf(err); problem != tc.problem || (err != nil) != (tc.problem != "") {
					t.Fatalf("%s: error %v is %q, want %q", tc.reason, err, problem, tc.problem)
				}
				if err != nil {
					if got != nil {
						t.Errorf("%s: an error with a configuration", tc.reason)
					}
					if diff := cmp.Diff(tc.message, err.Error()); diff != "" {
						t.Errorf("%s: message: -want, +got:\n%s", tc.reason, diff)
					}

					return
				}
				if diff := cmp.Diff(tc.want, got.GetLabels()["is"]); diff != "" {
					t.Errorf("%s: -want, +got:\n%s", tc.reason, diff)
				}
				if got == k.Namespaced || got == k.Cluster {
					t.Errorf("%s: the empty object was filled", tc.reason)
				}
			})
		})
	}
}

// TestGetRequiresTheFinalizer: an object and its configuration that are applied together need no second pass.
func TestGetRequiresTheFinalizer(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := fake.NewClientBuilder().WithScheme(newScheme()).WithObjects(tenant("a", "main")).Build()
		go func() {
			<-time.After(50 * time.Millisecond)
			w := tenant("a", "main")
			if err := c.Get(t.Context(), client.ObjectKeyFromObject(w), w); err != nil {
				t.Error(err)
			}
			w.Finalizers = []string{FinalizerName}
			if err := c.Update(t.Context(), w); err != nil {
				t.Error(err)
			}
		}()
		began := time.Now()
		if _, err := Get(t.Context(), c, bucket("a", "x", "", "main"), kinds); err != nil {
			t.Errorf("Get(...): %v", err)
		}
		if took := time.Since(began); took > 100*time.Millisecond {
			t.Errorf("it took %v", took)
		}
	})
}

func TestGetGivesUp(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		c := fake.NewClientBuilder().WithScheme(newScheme()).WithObjects(tenant("a", "main")).Build()
		began := time.Now()
		if _, err := Get(t.Context(), c, bucket("a", "x", "", "main"), kinds); !IsNotReady(err) {
			t.Errorf("Get(...): %v, want that it is not ready", err)
		}
		if took := time.Since(began); took > time.Second {
			t.Errorf("it took %v", took)
		}
		ctx, stop := context.WithTimeout(t.Context(), 15*time.Millisecond)
		defer stop()
		if _, err := Get(ctx, c, bucket("a", "x", "", "main"), kinds); !IsNotReady(err) {
			t.Errorf("Get(...): %v, want that it is not ready", err)
		}
	})
}

func TestGetFails(t *testing.T) {
	boom := errors.New("boom")
	c := fake.NewClientBuilder().WithScheme(newScheme()).WithInterceptorFuncs(interceptor.Funcs{
		Get: func(context.Context, client.WithWatch, client.ObjectKey, client.Object, ...client.GetOption) error {
			return boom
		},
	}).Build()
	if _, err := Get(t.Context(), c, bucket("a", "x", "", "main"), kinds); !errors.Is(err, boom) || problemOf(err) != "" {
		t.Errorf("Get(...): %v, want %v", err, boom)
	}
	if _, err := Get(t.Context(), c, bucket("a", "x", "", "main"), Kinds{}); err == nil || problemOf(err) != "" {
		t.Errorf("Get(...) without kinds: %v", err)
	}
	if _, err := Get(t.Context(), c, tenant("a", "x"), kinds); !IsInvalid(err) {
		t.Errorf("Get(...) for what has no reference: %v", err)
	}
	if _, err := Get(t.Context(), c, tenant("a", "x"), Kinds{}); !IsInvalid(err) {
		t.Errorf("Get(...) for what has no reference, without kinds: %v", err)
	}
	if err := fmt.Errorf("wrapped: %w", &configError{reason: missing}); !IsMissing(err) || IsLeaving(err) {
		t.Error("a wrapped refusal is not found")
	}
}
