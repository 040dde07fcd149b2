package serviceprovider

import (
	"context"
	"testing"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/pkg/clusters"
)

// contentWatcher is a domain that reads the contents of a Secret or ConfigMap.
type contentWatcher struct{ domain }

func (*contentWatcher) IsReferencedSecret(_ context.Context, s *corev1.Secret, _ *FooConfig) bool {
	return string(s.Data["for"]) == "foos"
}

func (*contentWatcher) IsReferencedConfigMap(_ context.Context, m *corev1.ConfigMap, _ *FooConfig) bool {
	return m.Data["for"] == "foos"
}

// contentMapper maps a Secret to an object by its contents.
type contentMapper struct{ contentWatcher }

func (*contentMapper) ObjectsForSecret(_ context.Context, s *corev1.Secret, _ *FooConfig) []reconcile.Request {
	if len(s.Data) == 0 {
		return nil
	}

	return []reconcile.Request{{NamespacedName: client.ObjectKey{Name: "a"}}}
}

// unreadableClient fails to read Secrets and ConfigMaps while it has an error.
type unreadableClient struct {
	client.Client

	err error
}

func (m *unreadableClient) Get(
	ctx context.Context, k client.ObjectKey, o client.Object, opts ...client.GetOption,
) error {
	if m.err != nil {
		return m.err
	}

	return m.Client.Get(ctx, k, o, opts...)
}

// TestUnreadableReferences verifies that a changed Secret or ConfigMap that cannot be read requeues
// all objects, because its event is not repeated. The domain gets the metadata of a deleted one.
func TestUnreadableReferences(t *testing.T) {
	w := newWorld(t)
	w.home = clusters.NewTestClusterFromClient("home", worldLister{api, w.ns})
	platform := &unreadableClient{Client: api}
	var service Reconciler[*Foo, *FooConfig]
	w.build = func(b *APIReconcilerBuilder[*Foo, *FooConfig]) {
		b.PlatformCluster(clusters.NewTestClusterFromClient("platform", platform)).Reconciler(service)
	}
	w.create("a")
	w.create("b")
	secret := func(name string) client.Object {
		return &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: name}, Data: map[string][]byte{"for": []byte("foos")},
		}
	}
	configMap := func(name string) client.Object {
		return &corev1.ConfigMap{
			ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: name}, Data: map[string]string{"for": "foos"},
		}
	}
	for _, o := range []client.Object{secret("there"), configMap("there")} {
		w.Create(o)
	}
	for name, tc := range map[string]struct {
		service Reconciler[*Foo, *FooConfig]
		kind    string
		there   int // objects that the one that is there is for
	}{
		"a Secret":            {&contentWatcher{}, "Secret", 2},
		"a ConfigMap":         {&contentWatcher{}, "ConfigMap", 2},
		"a Secret with a map": {&contentMapper{}, "Secret", 1},
	} {
		service = tc.service
		w.restart()
		ref := reference{
			kind: tc.kind, newObject: func() client.Object { return &corev1.Secret{} },
			mapFunc: w.r.mapSecretToRequests(),
		}
		changed := secret
		if tc.kind == "ConfigMap" {
			ref.newObject, ref.mapFunc, changed = func() client.Object {
				return &corev1.ConfigMap{}
			}, w.r.mapConfigMapToRequests(), configMap
		}
		for _, row := range []struct {
			name string
			err  error
			want int
		}{{"there", nil, tc.there}, {"gone", nil, 0}, {"there", boom, 2}} {
			platform.err = row.err
			if got := w.r.mapReference(ref)(t.Context(), changed(row.name)); len(got) != row.want {
				t.Errorf("%s that is %s, %v: want %d objects, got %v", name, row.name, row.err, row.want, got)
			}
		}
	}
}
