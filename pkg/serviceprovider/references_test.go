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

// A peruser is a domain that has to read a Secret or a ConfigMap to know whether it cares.
type peruser struct{ domain }

func (*peruser) IsReferencedSecret(_ context.Context, s *corev1.Secret, _ *FooConfig) bool {
	return string(s.Data["for"]) == "foos"
}

func (*peruser) IsReferencedConfigMap(_ context.Context, m *corev1.ConfigMap, _ *FooConfig) bool {
	return m.Data["for"] == "foos"
}

// A directory knows for which object a Secret is by what is in it.
type directory struct{ peruser }

func (*directory) ObjectsForSecret(_ context.Context, s *corev1.Secret, _ *FooConfig) []reconcile.Request {
	if len(s.Data) == 0 {
		return nil
	}

	return []reconcile.Request{{NamespacedName: client.ObjectKey{Name: "a"}}}
}

// A mute cluster does not let Secrets and ConfigMaps be read while it has an error.
type mute struct {
	client.Client

	err error
}

func (m *mute) Get(ctx context.Context, k client.ObjectKey, o client.Object, opts ...client.GetOption) error {
	if m.err != nil {
		return m.err
	}

	return m.Client.Get(ctx, k, o, opts...)
}

// TestUnreadableReferences: what has changed but cannot be read just now may be for every
// object, since nobody is told of it again. What is gone is asked for by its name.
func TestUnreadableReferences(t *testing.T) {
	w := newWorld(t)
	w.home = clusters.NewTestClusterFromClient("home", only{api, w.ns})
	platform := &mute{Client: api}
	var service Reconciler[*Foo, *FooConfig]
	w.build = func(b *APIReconcilerBuilder[*Foo, *FooConfig]) {
		b.PlatformCluster(clusters.NewTestClusterFromClient("platform", platform)).Reconciler(service)
	}
	w.create("a")
	w.create("b")
	secret := func(name string) client.Object {
		return &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: name}, Data: map[string][]byte{"for": []byte("foos")}}
	}
	configMap := func(name string) client.Object {
		return &corev1.ConfigMap{ObjectMeta: metav1.ObjectMeta{Namespace: w.ns, Name: name}, Data: map[string]string{"for": "foos"}}
	}
	for _, o := range []client.Object{secret("there"), configMap("there")} {
		w.Create(o)
	}
	for name, tc := range map[string]struct {
		service Reconciler[*Foo, *FooConfig]
		kind    string
		there   int // objects that the one that is there is for
	}{
		"a Secret":            {&peruser{}, "Secret", 2},
		"a ConfigMap":         {&peruser{}, "ConfigMap", 2},
		"a Secret with a map": {&directory{}, "Secret", 1},
	} {
		service = tc.service
		w.restart()
		ref := reference{kind: tc.kind, empty: func() client.Object { return &corev1.Secret{} }, to: w.r.mapSecretToRequests()}
		changed := secret
		if tc.kind == "ConfigMap" {
			ref.empty, ref.to, changed = func() client.Object { return &corev1.ConfigMap{} }, w.r.mapConfigMapToRequests(), configMap
		}
		for _, row := range []struct {
			name string
			err  error
			want int
		}{{"there", nil, tc.there}, {"gone", nil, 0}, {"there", boom, 2}} {
			platform.err = row.err
			if got := w.r.live(ref)(t.Context(), changed(row.name)); len(got) != row.want {
				t.Errorf("%s that is %s, %v: want %d objects, got %v", name, row.name, row.err, row.want, got)
			}
		}
	}
}
