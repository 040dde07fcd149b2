package remote

import (
	"context"
	"fmt"
	"os"
	"sync/atomic"
	"testing"
	"time"

	"github.com/go-logr/logr"
	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	kerrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	clientgoscheme "k8s.io/client-go/kubernetes/scheme"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	ctrllog "sigs.k8s.io/controller-runtime/pkg/log"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	clustersv1alpha1 "github.com/moorage-dev/moorage/apis/clusters/v1alpha1"
	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/leak"
	"github.com/moorage-dev/moorage/internal/testworld"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/clusters/clusterstest"
	"github.com/moorage-dev/moorage/pkg/clusters/connect"
	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/devcluster"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

const (
	clusterCount      = 10 // clusters
	volumesPerCluster = 3  // volumes in each of them
)

var (
	scheme  = runtime.NewScheme()
	servers []*rest.Config // the first one is home
	apis    []client.Client
)

func TestMain(m *testing.M) {
	leak.VerifyTestMain(leak.Tests(func() (int, error) { return run(m) }))
}

func run(m *testing.M) (int, error) {
	ctx := context.Background()
	ctrllog.SetLogger(logr.Discard())
	for _, add := range []func(*runtime.Scheme) error{
		clientgoscheme.AddToScheme, apiextensionsv1.AddToScheme, clustersv1alpha1.AddToScheme, volume.AddToScheme,
	} {
		if err := add(scheme); err != nil {
			return 1, err
		}
	}
	for range 3 { // TestTenClusters is about the first two
		c, err := devcluster.Start(ctx, devcluster.Options{Own: true, Progress: os.Stderr})
		if err != nil {
			return 1, err
		}
		defer func() { _ = c.Stop() }()
		config, err := c.RESTConfig()
		if err != nil {
			return 1, err
		}
		api, err := client.New(config, client.Options{Scheme: scheme})
		if err != nil {
			return 1, err
		}
		servers, apis = append(servers, config), append(apis, api)
	}
	if err := clusterstest.InstallCRDs(ctx, apis[0], clustersv1alpha1.CRDs()); err != nil {
		return 1, err
	}
	crds := envtest.CRDInstallOptions{
		CRDs: []*apiextensionsv1.CustomResourceDefinition{volume.CRD()}, Scheme: scheme, MaxTime: wait.Patience(),
	}
	if _, err := envtest.InstallCRDs(servers[0], crds); err != nil {
		return 1, err
	}

	return m.Run(), nil
}

// A configMapClient stores a volume as a ConfigMap.
type configMapClient struct{ client client.Client }

// configMapOf returns the ConfigMap of a volume.
func configMapOf(v *volume.Volume) *corev1.ConfigMap {
	return &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: v.Spec.Tier, Name: v.Name},
		Data:       map[string]string{"size": fmt.Sprint(v.Spec.SizeGiB)},
	}
}

// Observe reads the ConfigMap.
func (s configMapClient) Observe(ctx context.Context, v *volume.Volume) (managed.ExternalObservation, error) {
	found := &corev1.ConfigMap{}
	err := s.client.Get(ctx, client.ObjectKeyFromObject(configMapOf(v)), found)
	if err == nil {
		v.SetConditions(commonv1.Available())
	}

	return managed.ExternalObservation{
		ResourceExists: err == nil, ResourceUpToDate: found.Data["size"] == fmt.Sprint(v.Spec.SizeGiB),
	}, client.IgnoreNotFound(err)
}

// Create creates the ConfigMap.
func (s configMapClient) Create(ctx context.Context, v *volume.Volume) error {
	return s.client.Create(ctx, configMapOf(v))
}

// Update updates the ConfigMap.
func (s configMapClient) Update(ctx context.Context, v *volume.Volume) error {
	return s.client.Update(ctx, configMapOf(v))
}

// Delete deletes the ConfigMap.
func (s configMapClient) Delete(ctx context.Context, v *volume.Volume) error {
	return client.IgnoreNotFound(s.client.Delete(ctx, configMapOf(v)))
}

// A recoveringConfigMapClient also implements CreationRecoverer.
type recoveringConfigMapClient struct{ configMapClient }

// RecoverCreation always finds the resource.
func (s recoveringConfigMapClient) RecoverCreation(context.Context, *volume.Volume, string) (bool, error) {
	return true, nil
}

// RecoveryWindow returns a minute.
func (s recoveringConfigMapClient) RecoveryWindow() time.Duration { return time.Minute }

// A wrappedClient hides the optional interfaces of a client behind Unwrap.
type wrappedClient struct {
	managed.TypedExternalClient[*volume.Volume]
}

// Unwrap returns the client.
func (w wrappedClient) Unwrap() any { return w.TypedExternalClient }

// A world is ten clusters on two servers, each with a namespace and a user with all
// permissions there, and volumes in them.
type world struct {
	testworld.World[client.Client] // the server with the volumes

	built, closed atomic.Int32
	cache         *clusters.Cache[*clusters.Cluster]
	manager       *clusters.Manager[*clusters.Cluster]
}

// clusterName returns the name of a cluster.
func clusterName(i int) string { return fmt.Sprintf("cluster-%d", i) }

// serverOf returns the number of the server of a cluster.
func serverOf(i int) int { return i % 2 }

// newAccount creates another user of a cluster, and returns its kubeconfig.
func (w *world) newAccount(i, generation int) []byte {
	w.Helper()
	api, ns := apis[serverOf(i)], clusterName(i)
	account := &corev1.ServiceAccount{ObjectMeta: metav1.ObjectMeta{Namespace: ns, Name: fmt.Sprint("user-", generation)}}
	binding := &rbacv1.RoleBinding{
		ObjectMeta: account.ObjectMeta, RoleRef: rbacv1.RoleRef{
			APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin",
		},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: ns, Name: account.Name}},
	}
	token := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(3600))}}
	for _, err := range []error{
		client.IgnoreAlreadyExists(api.Create(w.Context(), &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: ns}})),
		api.Create(w.Context(), account), api.Create(w.Context(), binding), api.SubResource("token").Create(
			w.Context(), account, token),
	} {
		w.Must(err)
	}
	config := &rest.Config{
		Host: servers[serverOf(i)].Host, BearerToken: token.Status.Token,
		TLSClientConfig: rest.TLSClientConfig{CAData: servers[serverOf(i)].CAData},
	}
	out, err := clusters.New(ns).WithRESTConfig(config).WriteKubeconfig()
	w.Must(err)

	return out
}

// start runs the controllers until the test ends.
func (w *world) start() {
	w.Helper()
	m, err := ctrl.NewManager(servers[0], ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}, GracefulShutdownTimeout: new(wait.Patience()),
	})
	w.Must(err)
	w.cache = clusters.NewCache(func(_ context.Context, k clusters.Key, in clusters.Input) (*clusters.Cluster, error) {
		w.built.Add(1)
		c := clusters.New(k.String()).WithRESTConfig(in.RESTConfig)

		return c, c.InitializeClient(scheme)
	}, clusters.CacheOptions[*clusters.Cluster]{Close: func(c *clusters.Cluster) { w.closed.Add(1); c.Close() }})
	w.manager = clusters.NewManager(w.cache)
	w.Must(connect.Setup(
		m, w.cache, connect.WithRecheckInterval(200*time.Millisecond), connect.WithProbeInterval(200*time.Millisecond)))
	find := ByName(m.GetClient(), func(v *volume.Volume) client.ObjectKey {
		return client.ObjectKey{Namespace: "default", Name: v.Spec.Tier}
	})
	c := NewConnector(w.manager, "Volume", find, func(
		c *clusters.Cluster, _ *volume.Volume,
	) managed.TypedExternalClient[*volume.Volume] {
		return configMapClient{c.Client()}
	})
	err = managed.Setup(m, volume.Kind, controller.Options{MaxConcurrentReconciles: 8}, managed.WithTypedExternalConnector(
		c),
		managed.WithDeterministicExternalName(true), managed.WithPollInterval(500*time.Millisecond), managed.WithWatch(
			&clustersv1alpha1.Cluster{}, c.EnqueueUsers()), managed.WithWatch(&volume.Volume{}, c.ForgetDeleted()))
	w.Must(err)
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- m.Start(ctx) }()
	w.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			w.Errorf("the manager ended with %v", err)
		}
		w.cache.Close()
		if w.built.Load() != w.closed.Load() {
			w.Errorf("%d connections were made, and %d closed: a lease was not given back", w.built.Load(), w.closed.Load())
		}
	})
}

// volumes returns all volumes.
func (w *world) volumes() []volume.Volume {
	w.Helper()
	list := &volume.List{}
	w.Must(w.API.List(w.Context(), list, client.InNamespace("default")))

	return list.Items
}

// waitForSize waits until all volumes have a size, in their clusters only.
func (w *world) waitForSize(size int64) {
	w.Helper()
	last, whole := "", false
	defer func() {
		if !whole {
			w.Logf("%s is not in step", last)
		}
	}()
	wait.Until(w, "all volumes are in step", func() bool {
		for _, v := range w.volumes() {
			var i int
			if _, err := fmt.Sscanf(v.Spec.Tier, "cluster-%d", &i); err != nil {
				w.Fatal(err)
			}
			found := configMapOf(&v)
			err := apis[serverOf(i)].Get(w.Context(), client.ObjectKeyFromObject(found), found)
			if client.IgnoreNotFound(err) != nil {
				w.Fatal(err)
			}
			if last = v.Name; err != nil || found.Data["size"] != fmt.Sprint(size) {
				return false
			}
			if err := apis[1-serverOf(i)].Get(w.Context(), client.ObjectKeyFromObject(found), found); !kerrors.IsNotFound(err) {
				w.Fatalf("%s is on the other server: %v", v.Name, err)
			}
		}
		whole = true

		return true
	})
}

// waitForConnections waits until there was a connection for each of the credentials, and
// fails if there were more. An API server accepts revoked credentials for some time:
// volumes may have their size before the new ones are used.
func (w *world) waitForConnections(want int) {
	w.Helper()
	wait.Until(w, fmt.Sprintf("there was a connection for each of the credentials, %d", want), func() bool {
		return int(w.built.Load()) >= want
	})
	if n := int(w.built.Load()); n != want {
		w.Errorf("want a connection for each of the credentials, %d, got %d", want, n)
	}
}

// TestTenClustersWithRotations verifies that volumes in ten clusters are updated while
// the credentials of all clusters are rotated and the old ones revoked.
func TestTenClustersWithRotations(t *testing.T) {
	w := &world{World: testworld.New(t, apis[0])}
	w.start()
	for i := range clusterCount {
		meta := metav1.ObjectMeta{Namespace: "default", Name: clusterName(i)}
		ref := &commonv1.LocalSecretKeySelector{
			LocalSecretReference: commonv1.LocalSecretReference{Name: clusterName(i)}, Key: "kubeconfig",
		}
		objects := []client.Object{
			&corev1.Secret{ObjectMeta: meta, Data: map[string][]byte{"kubeconfig": w.newAccount(i, 0)}},
			&clustersv1alpha1.Cluster{ObjectMeta: meta, Spec: clustersv1alpha1.ClusterSpec{SecretRef: ref}},
		}
		for n := range volumesPerCluster {
			objects = append(objects, &volume.Volume{
				ObjectMeta: metav1.ObjectMeta{
					Namespace: "default", Name: fmt.Sprintf("v-%d-%d", i, n),
				}, Spec: volume.Spec{SizeGiB: 1, Tier: clusterName(i)},
			})
		}
		w.Create(objects...)
	}
	w.waitForSize(1)
	w.waitForConnections(clusterCount)
	const rotations = 3
	for r := 1; r <= rotations; r++ {
		for i := range clusterCount {
			secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: clusterName(i)}}
			body := fmt.Appendf(nil, `{"stringData":{"kubeconfig":%q}}`, w.newAccount(i, r))
			w.Must(w.API.Patch(t.Context(), secret, client.RawPatch("application/merge-patch+json", body)))
			old := &corev1.ServiceAccount{
				ObjectMeta: metav1.ObjectMeta{Namespace: clusterName(i), Name: fmt.Sprint("user-", r-1)},
			}
			w.Must(apis[serverOf(i)].Delete(t.Context(), old))
		}
		for _, v := range w.volumes() {
			body := fmt.Appendf(nil, `{"spec":{"sizeGiB":%d}}`, r+1)
			w.Must(w.API.Patch(t.Context(), &v, client.RawPatch("application/merge-patch+json", body)))
		}
		w.waitForSize(int64(r + 1))
		w.waitForConnections(clusterCount * (r + 1))
	}
	orphans := w.volumes()[:clusterCount]
	for _, v := range orphans {
		w.Must(w.API.Patch(
			t.Context(), &v,
			client.RawPatch(
				"application/merge-patch+json", []byte(`{"metadata":{"annotations":{"krateo.io/deletion-policy":"orphan"}}}`))))
	}
	for _, v := range w.volumes() {
		w.Delete(&v)
	}
	wait.Until(t, "no volume and none of their users is left", func() bool {
		left := 0
		for i := range clusterCount {
			left += len(w.manager.Users(client.ObjectKey{Namespace: "default", Name: clusterName(i)}))
		}

		return len(w.volumes()) == 0 && left == 0
	})
	for _, v := range orphans {
		var i int
		if _, err := fmt.Sscanf(v.Spec.Tier, "cluster-%d", &i); err != nil {
			t.Fatal(err)
		}
		if err := apis[serverOf(i)].Get(
			t.Context(), client.ObjectKeyFromObject(configMapOf(&v)), &corev1.ConfigMap{}); err != nil {
			t.Errorf("the policy of %s says to leave it behind: %v", v.Name, err)
		}
	}
}

// TestConnectionReplacedDuringPass verifies that no call starts on a connection that was
// replaced, and that a Create which did not start is known to have created nothing.
func TestConnectionReplacedDuringPass(t *testing.T) {
	cache := clusters.NewCache(func(context.Context, clusters.Key, clusters.Input) (*clusters.Cluster, error) {
		return clusters.New("east"), nil
	}, clusters.CacheOptions[*clusters.Cluster]{})
	defer cache.Close()
	key := client.ObjectKey{Name: "east"}
	cache.Set(key, clusters.Input{Revision: "a"})
	ref := clusters.Ref{Key: key, Revision: "a"}
	c := NewConnector(clusters.NewManager(
		cache), "Volume", func(context.Context, *volume.Volume) (clusters.Ref, error) { return ref, nil },
		func(*clusters.Cluster, *volume.Volume) managed.TypedExternalClient[*volume.Volume] {
			return wrappedClient{recoveringConfigMapClient{}}
		})
	v := &volume.Volume{}
	x, err := managed.Untyped(c).Connect(t.Context(), v)
	if err != nil {
		t.Fatal(err)
	}
	finder, finds := x.(managed.CreationRecoverer)
	if !finds || finder.RecoveryWindow() != time.Minute {
		t.Fatal("what the client can do is lost")
	}
	if found, err := finder.RecoverCreation(t.Context(), v, "token"); !found || err != nil {
		t.Errorf("found %t, %v", found, err)
	}
	cache.Set(key, clusters.Input{Revision: "b"})
	_, observed := x.Observe(t.Context(), v)
	_, recovered := finder.RecoverCreation(t.Context(), v, "token")
	for call, err := range map[string]error{
		"Observe": observed, "RecoverCreation": recovered, "Create": x.Create(
			t.Context(), v), "Update": x.Update(t.Context(), v), "Delete": x.Delete(t.Context(), v),
	} {
		if !errors.Is(err, clusters.ErrReplaced) {
			t.Errorf("%s: want %v, got %v", call, clusters.ErrReplaced, err)
		}
		if call == "Create" && !external.IsNotCreated(err) {
			t.Error("a Create that never began may have happened")
		}
	}
	if _, err := c.Connect(t.Context(), v); !errors.Is(err, clusters.ErrStale) {
		t.Errorf("want %v, got %v", clusters.ErrStale, err)
	}
}
