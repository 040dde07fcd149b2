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

// threshold is how many failures in a row count.
const threshold = 3

// A fleetOfTwo is two clusters on servers of their own, whose objects are on a third one,
// and controllers that keep something on them, as they were written before: with the time
// of the connection in place of a revision.
type fleetOfTwo struct {
	testworld.World[client.Client] // the third server

	cache   *clusters.Cache[*clusters.Cluster]
	clients *clientmanager.ClientManager[*clusters.Cluster]
}

func newFleetOfTwo(t *testing.T) *fleetOfTwo {
	t.Helper()
	f := &fleetOfTwo{World: testworld.New(t, apis[0]), cache: clusters.NewClusterCache(scheme, clusters.CacheOptions[*clusters.Cluster]{FailureThreshold: threshold})}
	f.clients = clientmanager.NewClientManager[*clusters.Cluster](f.cache)
	m, err := ctrl.NewManager(servers[0], ctrl.Options{
		Scheme: scheme, Metrics: metricsserver.Options{BindAddress: "0"}, Controller: config.Controller{SkipNameValidation: new(true)},
		GracefulShutdownTimeout: new(wait.Patience()),
	})
	f.Must(err)
	f.Must(connect.Setup(m, f.cache, connect.WithRecheckInterval(200*time.Millisecond), connect.WithProbeInterval(200*time.Millisecond)))
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

// kubeconfig leads to a server, as a new user who may do everything there by now: an API
// server goes by a binding a moment after it has stored it.
func (f *fleetOfTwo) kubeconfig(server int) []byte {
	f.Helper()
	meta := metav1.ObjectMeta{Namespace: "default", GenerateName: "user-"}
	account := &corev1.ServiceAccount{ObjectMeta: meta}
	token := &authenticationv1.TokenRequest{Spec: authenticationv1.TokenRequestSpec{ExpirationSeconds: new(int64(3600))}}
	err := apis[server].Create(f.Context(), account)
	binding := &rbacv1.ClusterRoleBinding{
		ObjectMeta: metav1.ObjectMeta{GenerateName: "user-"}, RoleRef: rbacv1.RoleRef{APIGroup: rbacv1.GroupName, Kind: "ClusterRole", Name: "cluster-admin"},
		Subjects: []rbacv1.Subject{{Kind: "ServiceAccount", Namespace: "default", Name: account.Name}},
	}
	f.Must(errors.Join(err, apis[server].Create(f.Context(), binding), apis[server].SubResource("token").Create(f.Context(), account, token)))
	c := &rest.Config{Host: servers[server].Host, BearerToken: token.Status.Token, TLSClientConfig: rest.TLSClientConfig{CAData: servers[server].CAData}}
	out, err := clusters.New("c").WithRESTConfig(c).WriteKubeconfig()
	f.Must(err)
	user, err := client.New(c, client.Options{Scheme: scheme})
	f.Must(err)
	wait.Until(f, fmt.Sprintf("a user of the server %d may do what was granted", server), func() bool {
		return user.List(f.Context(), &corev1.NamespaceList{}) == nil
	})

	return out
}

// cluster creates one and its Secret.
func (f *fleetOfTwo) cluster(name string, kubeconfig []byte) *clustersv1alpha1.Cluster {
	f.Helper()
	meta := metav1.ObjectMeta{Namespace: "default", Name: name}
	ref := &commonv1.LocalSecretKeySelector{LocalSecretReference: commonv1.LocalSecretReference{Name: name}, Key: "kubeconfig"}
	c := &clustersv1alpha1.Cluster{ObjectMeta: meta, Spec: clustersv1alpha1.ClusterSpec{SecretRef: ref}}
	f.Create(&corev1.Secret{ObjectMeta: meta, Data: map[string][]byte{"kubeconfig": kubeconfig}}, c)

	return c
}

// until reads a cluster again until it looks as wanted and the cache has it so.
func (f *fleetOfTwo) until(what string, c *clustersv1alpha1.Cluster, holds func() bool) {
	f.Helper()
	f.Await(c, what, func() bool {
		in, _ := f.cache.Known(client.ObjectKeyFromObject(c))

		return holds() && string(in.Revision) == c.Status.Revision
	})
}

func (f *fleetOfTwo) connected(name string, kubeconfig []byte) *clustersv1alpha1.Cluster {
	f.Helper()
	c := f.cluster(name, kubeconfig)
	f.until("is connected", c, func() bool { return c.Status.ConnectedAt != nil })

	return c
}

// gives puts another kubeconfig into the Secret of a cluster.
func (f *fleetOfTwo) gives(c *clustersv1alpha1.Cluster, kubeconfig []byte) {
	f.Helper()
	secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: c.Namespace, Name: c.Name}}
	body := fmt.Appendf(nil, `{"stringData":{"kubeconfig":%q}}`, kubeconfig)
	f.Must(apis[0].Patch(f.Context(), secret, client.RawPatch(types.MergePatchType, body)))
}

func (f *fleetOfTwo) rotate(c *clustersv1alpha1.Cluster, kubeconfig []byte) {
	f.Helper()
	before := c.Status.Revision
	f.gives(c, kubeconfig)
	f.until("has a new connection", c, func() bool { return c.Status.Revision != before && c.Status.ConnectedAt != nil })
}

// answers asks a cluster who it is.
func (f *fleetOfTwo) answers(c client.Client) types.UID {
	f.Helper()
	ns := &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: "kube-system"}}
	f.Must(c.Get(f.Context(), client.ObjectKeyFromObject(ns), ns))

	return ns.UID
}

var (
	forward = &metav1.ObjectMeta{Name: "port-forward"}
	watches = &metav1.ObjectMeta{Name: "discovery"}
)

// TestUpstreamStories: what controllers of this kind were tested with, on three real API
// servers, by the names it had there.
func TestUpstreamStories(t *testing.T) {
	f := newFleetOfTwo(t)
	east, west := f.connected("east", f.kubeconfig(1)), f.connected("west", f.kubeconfig(2))
	for _, story := range []struct {
		name string
		tell func(f *fleetOfTwo, east, west *clustersv1alpha1.Cluster)
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
		{"KubernetesDelete", deleted}, // the last one: it takes a cluster away
	} {
		t.Run(story.name, func(t *testing.T) {
			story.tell(&fleetOfTwo{testworld.New(t, apis[0]), f.cache, clientmanager.NewClientManager[*clusters.Cluster](f.cache)}, east, west)
		})
	}
}

func success(f *fleetOfTwo, east, west *clustersv1alpha1.Cluster) {
	for i, c := range []*clustersv1alpha1.Cluster{east, west} {
		for range 5 {
			got, err := f.clients.GetK8sClient(forward, c)
			if err != nil || f.answers(got.Client()) != f.answers(apis[i+1]) {
				f.Errorf("%s: another cluster answers, or none: %v", c.Name, err)
			}
		}
		if f.clients.Refresh(forward, c) {
			f.Errorf("%s: nothing has changed", c.Name)
		}
	}
}

// unknown checks that an object has no client, and has not been given one.
func (f *fleetOfTwo) unknown(c *clustersv1alpha1.Cluster, want error) {
	f.Helper()
	got, err := f.clients.GetK8sClient(forward, c)
	if got != nil || !errors.Is(err, want) {
		f.Errorf("want %v, got %v, %v", want, got, err)
	}
	if f.clients.Refresh(forward, c) || f.clients.Refresh(forward, nil) {
		f.Error("there is nothing to throw away")
	}
}

func notFound(f *fleetOfTwo, _, _ *clustersv1alpha1.Cluster) {
	f.unknown(&clustersv1alpha1.Cluster{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: "south"}}, clientmanager.NotFoundError)
}

func stale(f *fleetOfTwo, east, _ *clustersv1alpha1.Cluster) {
	old := east.DeepCopy()
	old.Status.ConnectedAt = new(metav1.NewMicroTime(east.Status.ConnectedAt.Add(-time.Second)))
	f.unknown(old, clientmanager.StaleClientError)
}

// failed: the error is the one that the status shows.
func failed(f *fleetOfTwo, _, _ *clustersv1alpha1.Cluster) {
	c := f.cluster("north", []byte("nothing"))
	f.until("has failed", c, func() bool { return c.Status.Error != "" })
	_, err := f.clients.GetK8sClient(forward, c)
	if err == nil || err.Error() != c.Status.Error {
		f.Errorf("want %s, got %v", c.Status.Error, err)
	}
	f.unknown(c, err)
}

func refresh(f *fleetOfTwo, east, _ *clustersv1alpha1.Cluster) {
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
		if got, err := f.clients.GetK8sClient(o, east); err != nil || f.answers(got.Client()) != f.answers(apis[1]) {
			f.Errorf("want the new client, got %v", err)
		}
	}
}

// clusterChange: what runs on a connection ends when the cluster moves to another server,
// and begins anew there.
func clusterChange(f *fleetOfTwo, _, west *clustersv1alpha1.Cluster) {
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
	if err != nil || f.answers(again.Client.Client()) != f.answers(apis[1]) {
		f.Errorf("want the other server, got %v", err)
	}
	again.Release()
}

// A serviceWatcher keeps the services of a cluster that carry a label, by their names.
type serviceWatcher struct {
	mu    sync.Mutex
	names map[string]bool
}

// watch follows services until the lease ends.
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
				return why // both have ended, and it is for nobody to say which was first seen
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

func (w *serviceWatcher) all() []string {
	w.mu.Lock()
	defer w.mu.Unlock()

	return slices.Sorted(maps.Keys(w.names))
}

// serviceWatch: when a cluster moves, the watch on the server before ends, what was seen
// there is thrown away once, and the services of the server that it moved to are seen, and
// no other.
func serviceWatch(f *fleetOfTwo, _, _ *clustersv1alpha1.Cluster) {
	label := client.MatchingLabels{"story": "service-watch"}
	service := func(server int, name string) {
		f.Helper()
		meta := metav1.ObjectMeta{Namespace: "default", Name: name, Labels: label}
		f.Must(apis[server].Create(f.Context(), &corev1.Service{ObjectMeta: meta, Spec: corev1.ServiceSpec{Ports: []corev1.ServicePort{{Port: 80}}}}))
	}
	service(1, "one")
	service(2, "two")
	c := f.connected("moving", f.kubeconfig(1))
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
		f.Errorf("want it told once, got %s, %v", change, err)
	}
	now, _ := begin()
	sees(now, "two")
	service(1, "late") // nobody is there any more
	service(2, "three")
	sees(now, "three", "two")
	sees(old, "one")
	for server, names := range map[int][]string{1: {"one", "late"}, 2: {"two", "three"}} {
		for _, name := range names {
			_ = apis[server].Delete(f.Context(), &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: "default", Name: name}})
		}
	}
}

func deleted(f *fleetOfTwo, east, _ *clustersv1alpha1.Cluster) {
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
	f.unknown(east, clientmanager.NotFoundError)
}
