package managed_test

import (
	"context"
	stderrors "errors"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/google/go-cmp/cmp"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlconfig "sigs.k8s.io/controller-runtime/pkg/config"
	"sigs.k8s.io/controller-runtime/pkg/manager"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/store/kube"
	"github.com/moorage-dev/moorage/pkg/store/memory"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// TestDetailsOfCreationInStores verifies that details that only Create returns reach the named Secret if Secrets
// are in a store as well; otherwise Create is not called, and the object reports why.
func TestDetailsOfCreationInStores(t *testing.T) {
	for name, served := range map[string]bool{"Served": true, "NotServed": false} {
		t.Run(name, func(t *testing.T) {
			must := func(err error) {
				t.Helper()
				if err != nil {
					t.Fatal(err)
				}
			}
			scheme := runtime.NewScheme()
			must(stderrors.Join(corev1.AddToScheme(scheme), volume.AddToScheme(scheme)))
			kinds := []kube.Kind{kube.Serve(memory.New[*kube.Envelope[*volume.Volume]]("volumes"))}
			if served {
				kinds = append(kinds, kube.Serve(memory.New[*kube.Envelope[*corev1.Secret]]("secrets")))
			}
			c, err := kube.NewCluster(scheme, kube.Options{Cache: managed.CacheOptions()}, kinds...)
			must(err)
			m, err := kube.NewManager(c, manager.Options{
				Metrics:    metricsserver.Options{BindAddress: "0"},
				Controller: ctrlconfig.Controller{SkipNameValidation: new(true)},
			})
			must(err)
			var exists atomic.Bool
			disks := managed.ExternalClientFns{
				ObserveFn: func(context.Context, resource.Managed) (managed.ExternalObservation, error) {
					return managed.ExternalObservation{ResourceExists: exists.Load(), ResourceUpToDate: true}, nil
				},
				CreateFn: func(ctx context.Context, _ resource.Managed) error {
					exists.Store(true)
					managed.TellConnectionDetails(ctx, managed.ConnectionDetails{"password": []byte("sesame")})

					return nil
				},
			}
			must(managed.Setup(m, volume.Kind, controller.Options{},
				managed.WithExternalConnecter(managed.ExternalConnectorFn(func(context.Context,
					resource.Managed) (managed.ExternalClient, error) {
					return disks, nil
				})),
				managed.WithDeterministicExternalName(true), managed.WithCreationConnectionDetails()))
			ctx, stop := context.WithCancel(t.Context())
			ended := make(chan error, 1)
			go func() { ended <- m.Start(ctx) }()
			defer func() {
				stop()
				must(<-ended)
			}()
			v := &volume.Volume{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "a"}}
			v.Spec.SizeGiB, v.Spec.WriteConnectionSecretToRef = 1, &commonv1.LocalSecretReference{Name: "access"}
			must(c.GetClient().Create(t.Context(), v))
			if !served {
				wait.Until(t, "a condition that says why", func() bool {
					must(c.GetAPIReader().Get(t.Context(), client.ObjectKeyFromObject(v), v))
					synced := v.GetCondition(commonv1.TypeSynced)

					return synced.Status == "False" && strings.Contains(synced.Message, `no matches for kind "Secret"`)
				})
				if exists.Load() {
					t.Error("Create was called")
				}

				return
			}
			secret := &corev1.Secret{}
			wait.Until(t, "the Secret", func() bool {
				return c.GetAPIReader().Get(t.Context(), client.ObjectKey{Namespace: "default", Name: "access"},
					secret) == nil
			})
			if diff := cmp.Diff(map[string][]byte{"password": []byte("sesame")}, secret.Data); diff != "" {
				t.Errorf("-want +got:\n%s", diff)
			}
		})
	}
}
