package trials

import (
	"context"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlfake "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/client/interceptor"
	"sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/providerconfig"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
)

const configFinalizer = providerconfig.FinalizerName

var configs = schema.GroupResource{Group: volume.GroupVersion.Group, Resource: "providerconfigs"}

// A keeper has the reconciler of ProviderConfigs that providerconfig.Setup makes, over an API
// server in memory. The configurations have no users.
type keeper struct {
	client.Client

	etcd   *etcd
	keeps  reconcile.Reconciler
	refuse error // answers one write
}

// A collector is a manager that records its runnables.
type collector struct {
	*fake.Manager

	added []manager.Runnable
}

func (c *collector) Add(r manager.Runnable) error {
	c.added = append(c.added, r)

	return nil
}

// GetControllerOptions allows several controllers of one name.
func (c *collector) GetControllerOptions() config.Controller {
	return config.Controller{SkipNameValidation: new(true)}
}

func newKeeper(t *testing.T, objects ...client.Object) *keeper {
	t.Helper()
	k := &keeper{etcd: &etcd{newConfigStore(t, objects...)}}
	k.Client = k.etcd
	over := interceptor.NewClient(k.etcd, interceptor.Funcs{
		Patch: func(ctx context.Context, c client.WithWatch, o client.Object, p client.Patch,
			opts ...client.PatchOption) error {
			if err := k.refuse; err != nil {
				k.refuse = nil

				return err
			}

			return c.Patch(ctx, o, p, opts...)
		},
	})
	m := &collector{Manager: &fake.Manager{Client: over, Scheme: over.Scheme()}}
	if err := providerconfig.Setup(m, providerconfig.Kinds{Namespaced: &volume.ProviderConfig{}}, nil); err != nil {
		t.Fatal(err)
	}
	for _, r := range m.added {
		if c, ok := r.(reconcile.Reconciler); ok {
			k.keeps = c
		}
	}
	if k.keeps == nil {
		t.Fatalf("Setup added no controller, but %T", m.added)
	}

	return k
}

func newConfigStore(t *testing.T, objects ...client.Object) client.WithWatch {
	t.Helper()

	return ctrlfake.NewClientBuilder().WithScheme(newScheme(t)).WithObjects(objects...).
		WithStatusSubresource(&volume.ProviderConfig{}).Build()
}

func (k *keeper) pass(name string) (reconcile.Result, error) {
	return k.keeps.Reconcile(context.Background(),
		reconcile.Request{NamespacedName: client.ObjectKeyFromObject(configNamed(name))})
}

func configNamed(name string) *volume.ProviderConfig {
	return &volume.ProviderConfig{ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: name,
		UID: "uid-config"}}
}
