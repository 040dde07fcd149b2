package remote

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"slices"
	"sync"
	"testing"
	"time"

	authenticationv1 "k8s.io/api/authentication/v1"
	corev1 "k8s.io/api/core/v1"
	rbacv1 "k8s.io/api/rbac/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/config"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	clustersv1alpha1 "github.com/moorage-dev/moorage/apis/clusters/v1alpha1"
	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/testworld"
	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/clusters/clientmanager"
	"github.com/moorage-dev/moorage/pkg/clusters/connect"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// threshold is the number of consecutive failures that make a cluster unhealthy.
const threshold = 3

// twoClusters are two clusters on servers of their own, whose objects are on a third one,
// and controllers that use them by the time of the connection instead of a revision.
type twoClusters struct {
	testworld.World[client.Client] // the third server

	cache   *clusters.Cache[*clusters.Cluster]
	clients *clientmanager.ClientManager[*clusters.Cluster]
}

// newTwoClusters starts the controllers.
func newTwoClusters(t *testing.T) *twoClusters {
	t.Helper()
	f := &twoClusters{
		World: testworld.New(t, apis[0]),
		cache: clusters.NewClusterCache(scheme, clusters.CacheOptions[*clusters.Cluster]{FailureThreshold: threshold}),
	}
	f.clients = clientmanager.NewClientManager[*clusters.Cluster](f.cache)
	m, err := ctrl.NewManager(servers[0], ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"},
		Controller:              config.Controller{SkipNameValidation: new(true)},
		GracefulShutdownTimeout: new(wait.Patience()),
	})
	f.Must(err)
	f.Must(connect.Setup(
		m, f.cache, connect.WithRecheckInterval(200*time.Millisecond), connect.WithProbeInterval(200*time.Millisecond)))
	ctx, stop := context.WithCancel(context.Background())
	ended := make(chan error, 1)
	go func() { ended <- m.Start(ctx) }()
	t.Cleanup(func() {
		stop()
		if err := <-ended; err != nil {
			t.Errorf("the manager ended with %v", err)
		}
		f.cache.Close()
	})

	return f
}

// kubeconfig returns a kubeconfig of a new user with all permissions. It waits until they
// apply: an API server applies a binding some time after it is stored.
func (f *twoClusters) kubeconfig(server int) []byte {
	f.Helper()
	meta := metav1.ObjectMeta{Namespace: "default", GenerateName: "user-"}
	account := &corev1.ServiceAccount{ObjectMeta: meta}
	token := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(3600))}}
	err := apis[server].Create(f.Context(), account)
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "user-"}, RoleRef: rbacv1.RoleRef{
			APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin",
		},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "default", Name: account.Name}},
	}
	f.Must(errors.Join(
		err, apis[server].Create(f.Context(), binding), apis[server].SubResource("token").Create(
			f.Context(), account, token)))
	c := &rest.Config{
		Host: servers[server].Host, BearerToken: token.Status.Token,
		TLSClientConfig: rest.TLSClientConfig{CAData: servers[server].CAData},
	}
	out, err := clusters.New("c").WithRESTConfig(c).WriteKubeconfig()
	f.Must(err)
	user, err := client.New(c, client.Options{Scheme: scheme})
	f.Must(err)
	wait.Until(f, fmt.Sprintf("a user of the server %d may do what was granted", server), func() bool {
		return user.List(f.Context(), &corev1.NamespaceList{}) == nil
	})

	return out
}

// createCluster creates a cluster and its Secret.
func (f *twoClusters) createCluster(name string, kubeconfig []byte) *clustersv1alpha1.Cluster {
	f.Helper()
	meta := metav1.ObjectMeta{Namespace: "default", Name: name}
	ref := &commonv1.LocalSecretKeySelector{
		LocalSecretReference: commonv1.LocalSecretReference{Name: name}, Key: "kubeconfig",
	}
	c := &clustersv1alpha1.Cluster{ObjectMeta: meta, Spec: clustersv1alpha1.ClusterSpec{SecretRef: ref}}
	f.Create(&corev1.Secret{ObjectMeta: meta, Data: map[string][]byte{"kubeconfig": kubeconfig}}, c)

	return c
}

// waitFor reads a cluster until a condition holds and the cache has the same revision.
func (f *twoClusters) waitFor(what string, c *clustersv1alpha1.Cluster, holds func() bool) {
	f.Helper()
	f.Await(c, what, func() bool {
		in, _ := f.cache.Known(client.ObjectKeyFromObject(c))

		return holds() && string(in.Revision) == c.Status.Revision
	})
}

// connect creates a cluster and waits until it is connected.
func (f *twoClusters) connect(name string, kubeconfig []byte) *clustersv1alpha1.Cluster {
	f.Helper()
	c := f.createCluster(name, kubeconfig)
	f.waitFor("is connected", c, func() bool { return c.Status.ConnectedAt != nil })

	return c
}

// setKubeconfig replaces the kubeconfig in the Secret of a cluster.
func (f *twoClusters) setKubeconfig(c *clustersv1alpha1.Cluster, kubeconfig []byte) {
	f.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: c.Name}}
	body := fmt.Appendf(nil, `{"stringData":{"kubeconfig":%q}}`, kubeconfig)
	f.Must(apis[0].Patch(f.Context(), secret, client.RawPatch(types.MergePatchType, body)))
}

// rotate replaces the kubeconfig and waits for the new connection.
func (f *twoClusters) rotate(c *clustersv1alpha1.Cluster, kubeconfig []byte) {
	f.Helper()
	before := c.Status.Revision
	f.setKubeconfig(c, kubeconfig)
	f.waitFor("has a new connection", c, func() bool { return c.Status.Revision != before && c.Status.ConnectedAt != nil })
}

// clusterUID returns the UID that identifies the cluster of a client.
func (f *twoClusters) clusterUID(c client.Client) types.UID {
	f.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-system"}}
	f.Must(c.Get(f.Context(), client.ObjectKeyFromObject(ns), ns))

	return ns.UID
}

var (
	forward = &metav1.ObjectMeta{Name: "port-forward"}
	watches = &metav1.ObjectMeta{Name: "discovery"}
)

// TestUpstreamStories runs the tests that existing controllers of this kind have, on
// three real API servers, by their names there.
func TestUpstreamStories(t *testing.T) {
	f := newTwoClusters(t)
	east, west := f.connect("east", f.kubeconfig(1)), f.connect("west", f.kubeconfig(2))
	for _, story := range []struct {
		name string
		run  func(f *twoClusters, east, west *clustersv1alpha1.Cluster)
	}{
		{"ClientManager_Success", success},
		{"ClientManager_NotFound", notFound},
		{"ClientManager_Stale", stale},
		{"ClientManager_Error", failed},
		{"ClientManager_Refresh", refresh},
		{"KubernetesError", unreachable},
		{"KubernetesArch", arch},
		{"KubernetesConnStatus", connStatus},
		{"KubernetesMonitorReportsSustainedFailure", sustainedFailure},
		{"KubernetesMonitorIgnoresTransientFailure", transientFailure},
		{"ConnectionManager", connectionManager},
		{"ClusterChange", clusterChange}, // west moves to the other server
		{"ServiceWatchClusterChange", serviceWatch},
		{"KubernetesDelete", deleted}, // the last one: it deletes a cluster
	} {
		t.Run(story.name, func(t *testing.T) {
			story.run(&twoClusters{
				testworld.New(t, apis[0]), f.cache, clientmanager.NewClientManager[*clusters.Cluster](f.cache),
			}, east, west)
		})
	}
}

// success verifies that objects get the clients of their clusters.
func success(f *twoClusters, east, west *clustersv1alpha1.Cluster) {
	for i, c := range []*clustersv1alpha1.Cluster{east, west} {
		for range 5 {
			got, err := f.clients.GetK8sClient(forward, c)
			if err != nil || f.clusterUID(got.Client()) != f.clusterUID(apis[i+1]) {
				f.Errorf("%s: another cluster answers, or none: %v", c.Name, err)
			}
		}
		if f.clients.Refresh(forward, c) {
			f.Errorf("%s: nothing has changed", c.Name)
		}
	}
}

// expectError verifies that an object gets an error, and that it is not tracked.
func (f *twoClusters) expectError(c *clustersv1alpha1.Cluster, want error) {
	f.Helper()
	got, err := f.clients.GetK8sClient(forward, c)
	if got != nil || !errors.Is(err, want) {
		f.Errorf("want %v, got %v, %v", want, got, err)
	}
	if f.clients.Refresh(forward, c) || f.clients.Refresh(forward, nil) {
		f.Error("there is nothing to throw away")
	}
}

// notFound verifies the error of an unknown cluster.
func notFound(f *twoClusters, _, _ *clustersv1alpha1.Cluster) {
	f.expectError(&clustersv1alpha1.Cluster{
		ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "south"},
	}, clientmanager.NotFoundError)
}

// stale verifies the error of a stale read.
func stale(f *twoClusters, east, _ *clustersv1alpha1.Cluster) {
	old := east.DeepCopy()
	old.Status.ConnectedAt = new(metav1.NewMicroTime(east.Status.ConnectedAt.Add(-time.Second)))
	f.expectError(old, clientmanager.StaleClientError)
}

// failed verifies that the error is the one in the status.
func failed(f *twoClusters, _, _ *clustersv1alpha1.Cluster) {
	c := f.createCluster("north", []byte("nothing"))
	f.waitFor("has failed", c, func() bool { return c.Status.Error != "" })
	_, err := f.clients.GetK8sClient(forward, c)
	if err == nil || err.Error() != c.Status.Error {
		f.Errorf("want %s, got %v", c.Status.Error, err)
	}
	f.expectError(c, err)
}

// refresh verifies that Refresh reports a rotation once per object.
func refresh(f *twoClusters, east, _ *clustersv1alpha1.Cluster) {
	objects := []clientmanager.KeyableObject{forward, watches}
	for _, o := range objects {
		if _, err := f.clients.GetK8sClient(o, east); err != nil {
			f.Fatal(err)
		}
	}
	old := east.DeepCopy()
	f.rotate(east, f.kubeconfig(1))
	for _, o := range objects {
		if _, err := f.clients.GetK8sClient(o, old); !errors.Is(err, clientmanager.StaleClientError) {
			f.Errorf("the cluster as it was: want %v, got %v", clientmanager.StaleClientError, err)
		}
		if f.clients.Refresh(o, old) {
			f.Error("the cluster as it was: nothing newer was read")
		}
		if !f.clients.Refresh(o, east) || f.clients.Refresh(o, east) {
			f.Error("the cluster as it is: want a change, once, for each object")
		}
		if got, err := f.clients.GetK8sClient(o, east); err != nil || f.clusterUID(got.Client()) != f.clusterUID(apis[1]) {
			f.Errorf("want the new client, got %v", err)
		}
	}
}

// clusterChange verifies that watches end when the cluster moves to another server, and
// start there.
func clusterChange(f *twoClusters, _, west *clustersv1alpha1.Cluster) {
	m := clusters.NewManager(f.cache)
	u := clusters.User{Kind: "PortForward", Key: clusters.Key{Name: "port-forward"}}
	lease, err := m.Get(f.Context(), u, connect.Ref(west))
	f.Must(err)
	running := make(chan error, 1)
	go func() {
		<-lease.Context.Done()
		running <- context.Cause(lease.Context)
	}()
	f.rotate(west, f.kubeconfig(1))
	if why := <-running; !errors.Is(why, clusters.ErrReplaced) {
		f.Errorf("want it ended because of %v, got %v", clusters.ErrReplaced, why)
	}
	lease.Release()
	if change, err := m.Refresh(f.Context(), u, connect.Ref(west)); change != clusters.Replaced || err != nil {
		f.Errorf("want Replaced, got %s, %v", change, err)
	}
	again, err := m.Get(f.Context(), u, connect.Ref(west))
	if err != nil || f.clusterUID(again.Client.Client()) != f.clusterUID(apis[1]) {
		f.Errorf("want the other server, got %v", err)
	}
	again.Release()
}

// A serviceWatcher records the names of the services of a cluster that have a label.
type serviceWatcher struct {
	mu    sync.Mutex
	names map[string]bool
}

// watch watches services until the lease ends.
func (w *serviceWatcher) watch(lease clusters.Lease[*clusters.Cluster], label client.MatchingLabels) error {
	c, err := client.NewWithWatch(lease.Client.RESTConfig(), client.Options{Scheme: scheme})
	if err != nil {
		return err
	}
	events, err := c.Watch(lease.Context, &corev1.ServiceList{}, client.InNamespace("default"), label)
	if err != nil {
		return err
	}
	defer events.Stop()
	for {
		select {
		case <-lease.Context.Done():
			return context.Cause(lease.Context)
		case e, more := <-events.ResultChan():
			if why := context.Cause(lease.Context); why != nil {
				return why // both have ended, in either order
			}
			if !more {
				return errors.New("the watch has ended before the lease")
			}
			if s, ok := e.Object.(*corev1.Service); ok {
				w.mu.Lock()
				w.names[s.Name] = true
				w.mu.Unlock()
			}
		}
	}
}

// all returns the names, sorted.
func (w *serviceWatcher) all() []string {
	w.mu.Lock()
	defer w.mu.Unlock()

	return slices.Sorted(maps.Keys(w.names))
}

// serviceWatch verifies that the watch ends when a cluster moves, that Refresh reports it
// once, and that only the services of the new server are seen then.
func serviceWatch(f *twoClusters, _, _ *clustersv1alpha1.Cluster) {
	label := client.MatchingLabels{"story": "service-watch"}
	service := func(server int, name string) {
		f.Helper()
		meta := metav1.ObjectMeta{Namespace: "default", Name: name, Labels: label}
		f.Must(apis[server].Create(f.Context(), &corev1.Service{
			ObjectMeta: meta, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}},
		}))
	}
	service(1, "one")
	service(2, "two")
	c := f.connect("moving", f.kubeconfig(1))
	m, u := clusters.NewManager(f.cache), clusters.User{Kind: "ServiceWatch", Key: clusters.Key{Name: "watch"}}
	begin := func() (*serviceWatcher, <-chan error) {
		f.Helper()
		lease, err := m.Get(f.Context(), u, connect.Ref(c))
		f.Must(err)
		w, ended := &serviceWatcher{names: map[string]bool{}}, make(chan error, 1)
		go func() {
			defer lease.Release()
			ended <- w.watch(lease, label)
		}()

		return w, ended
	}
	sees := func(w *serviceWatcher, names ...string) {
		f.Helper()
		wait.Until(f, fmt.Sprintf("the services are %v", names), func() bool { return slices.Equal(w.all(), names) })
	}
	old, ended := begin()
	sees(old, "one")
	f.rotate(c, f.kubeconfig(2))
	if why := <-ended; !errors.Is(why, clusters.ErrReplaced) {
		f.Errorf("want the watch ended because of %v, got %v", clusters.ErrReplaced, why)
	}
	if change, err := m.Refresh(f.Context(), u, connect.Ref(c)); change != clusters.Replaced || err != nil {
		f.Errorf("want Replaced, got %s, %v", change, err)
	}
	if change, err := m.Refresh(f.Context(), u, connect.Ref(c)); change != clusters.Unchanged || err != nil {
		f.Errorf("want one change, got %s, %v", change, err)
	}
	now, _ := begin()
	sees(now, "two")
	service(1, "late") // its watch has ended
	service(2, "three")
	sees(now, "three", "two")
	sees(old, "one")
	for server, names := range map[int][]string{1: {"one", "late"}, 2: {"two", "three"}} {
		for _, name := range names {
			_ = apis[server].Delete(f.Context(), &corev1.Service{
				ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name},
			})
		}
	}
}

// deleted verifies that a deleted cluster has no client.
func deleted(f *twoClusters, east, _ *clustersv1alpha1.Cluster) {
	got, err := f.clients.GetK8sClient(forward, east)
	if err != nil || got == nil {
		f.Fatal(err)
	}
	f.Delete(east)
	wait.Until(f, "the connection was dropped", func() bool {
		_, known := f.cache.Known(client.ObjectKeyFromObject(east))

		return !known
	})
	if !f.clients.Refresh(forward, nil) || f.clients.Refresh(forward, nil) {
		f.Error("want it told once that the cluster is gone")
	}
	f.expectError(east, clientmanager.NotFoundError)
}
