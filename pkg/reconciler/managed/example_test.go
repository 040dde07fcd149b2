package managed_test

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strconv"
	"time"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlfake "sigs.k8s.io/controller-runtime/pkg/client/fake"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
)

// A Folder is an external system: a file for every volume, of the size it asks for. Create keeps what a file holds.
type Folder struct{ *os.Root }

func (f Folder) Connect(context.Context, resource.Managed) (managed.ExternalClient, error) {
	return f, nil
}

func (f Folder) Observe(_ context.Context, mg resource.Managed) (managed.ExternalObservation, error) {
	file, err := f.Stat(meta.GetExternalName(mg))
	if err != nil {
		return managed.ExternalObservation{}, resource.Ignore(os.IsNotExist, err)
	}
	mg.SetConditions(commonv1.Available())
	return managed.ExternalObservation{ResourceExists: true, ResourceUpToDate: file.Size() == size(mg)}, nil
}

func (f Folder) Create(_ context.Context, mg resource.Managed) error {
	file, err := f.OpenFile(meta.GetExternalName(mg), os.O_CREATE|os.O_WRONLY, 0o600)
	if err == nil {
		err = errors.Join(file.Truncate(size(mg)), file.Close())
	}
	return err
}

func (f Folder) Update(ctx context.Context, mg resource.Managed) error { return f.Create(ctx, mg) }

func (f Folder) Delete(_ context.Context, mg resource.Managed) error {
	return f.RemoveAll(meta.GetExternalName(mg))
}

func SetupVolumes(m manager.Manager, dir *os.Root) error {
	return managed.Setup(m, volume.Kind, controller.Options{PollInterval: time.Minute},
		managed.WithExternalConnecter(Folder{dir}), managed.WithDeterministicExternalName(true))
}

func run(ctx context.Context, config *rest.Config, scheme *runtime.Scheme, dir *os.Root) error {
	m, err := ctrl.NewManager(config, ctrl.Options{
		Scheme: scheme,
		Cache:  managed.CacheOptions(), // keeps no managed fields
		Client: client.Options{Cache: &client.CacheOptions{ // Secrets are read when needed, not watched
			DisableFor: []client.Object{&corev1.Secret{}, &corev1.ConfigMap{}},
		}},
	})
	if err != nil {
		return err
	}
	if err := SetupVolumes(m, dir); err != nil {
		return err
	}
	return m.Start(ctx)
}

var _ = run // the main of a provider; the example below makes its passes by hand

func size(mg resource.Managed) int64 {
	// the controller hands out volumes only
	return mg.(*volume.Volume).Spec.SizeGiB
}

// The life of a volume, one pass at a time. With a manager, SetupVolumes is all
// there is to call.
func Example() {
	dir, _ := os.MkdirTemp("", "volumes")
	defer os.RemoveAll(dir)
	root, _ := os.OpenRoot(dir)

	scheme := runtime.NewScheme()
	_ = volume.AddToScheme(scheme)
	v := &volume.Volume{
		ObjectMeta: metav1.ObjectMeta{Name: "data", Namespace: "default"},
		Spec:       volume.Spec{SizeGiB: 3},
	}
	api := ctrlfake.NewClientBuilder().WithScheme(scheme).WithStatusSubresource(v).WithObjects(v).Build()
	r := managed.NewReconciler(&fake.Manager{Client: api, Scheme: scheme}, volume.Kind,
		managed.WithExternalConnecter(Folder{root}),
		managed.WithDeterministicExternalName(true),
		managed.WithCreationGracePeriod(0))
	pass := func(what string) {
		key := client.ObjectKeyFromObject(v)
		_, err := r.Reconcile(context.Background(), reconcile.Request{NamespacedName: key})
		file, missing := os.Stat(filepath.Join(dir, "data"))
		bytes := "no file"
		if missing == nil {
			bytes = strconv.FormatInt(file.Size(), 10) + " bytes"
		}
		fmt.Println(what, bytes, err, client.IgnoreNotFound(api.Get(context.Background(), key, v)) == nil)
	}

	pass("created:")
	v.Spec.SizeGiB = 5
	_ = api.Update(context.Background(), v)
	pass("changed:")
	_ = os.Truncate(filepath.Join(dir, "data"), 1)
	pass("corrected:")
	_ = api.Delete(context.Background(), v)
	pass("deleted:")
	// Output:
	// created: 3 bytes <nil> true
	// changed: 5 bytes <nil> true
	// corrected: 5 bytes <nil> true
	// deleted: no file <nil> true
}
