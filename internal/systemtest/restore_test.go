package systemtest

import (
	"context"
	stderrors "errors"
	"fmt"
	"os"
	"path/filepath"
	"sync/atomic"
	"testing"
	"time"

	coordination "k8s.io/api/coordination/v1"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/tools/leaderelection/resourcelock"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/internal/volume/stories"
	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/devcluster"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// The objects of the tests of a restore are in the namespace that a new cluster has.
var (
	electionKey = client.ObjectKey{Namespace: "default", Name: "restore"}
	keptKey     = client.ObjectKey{Namespace: "default", Name: "kept"}
	lateKey     = client.ObjectKey{Namespace: "default", Name: "late"}
	madeKey     = client.ObjectKey{Namespace: "default", Name: "made"}
)

// TestRestoreEndsProcessOnce restores an older state of etcd while processes run, whose watches wait for versions that
// are gone. One ends by its lease, and one without a lease by its probe; the next process continues from the stored
// state. A resource that was created after the snapshot is not created again: the ending process writes its record
// back.
func TestRestoreEndsProcessOnce(t *testing.T) {
	own, err := devcluster.Start(t.Context(), devcluster.Options{Own: true})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { _ = own.Stop() })
	c, err := own.RESTConfig()
	if err != nil {
		t.Fatal(err)
	}
	admin, err := client.New(c, client.Options{Scheme: scheme})
	if err != nil {
		t.Fatal(err)
	}
	data, backup := filepath.Join(own.Dir, "etcd"), filepath.Join(t.TempDir(), "etcd")
	write(t, admin, keptKey, "old")
	if err := admin.Create(t.Context(),
		&coordination.Lease{ObjectMeta: metav1.ObjectMeta{Namespace: electionKey.Namespace,
			Name: electionKey.Name}}); err != nil {
		t.Fatal(err)
	}
	if _, err := envtest.InstallCRDs(c, envtest.CRDInstallOptions{
		CRDs: []*apiextensionsv1.CustomResourceDefinition{volume.CRD()}, Scheme: scheme, MaxTime: wait.Patience(),
	}); err != nil {
		t.Fatal(err)
	}
	if err := admin.Create(t.Context(), stories.NewVolume(madeKey.Namespace, madeKey.Name)); err != nil {
		t.Fatal(err)
	}
	whileDown(t, own, func() error { return os.CopyFS(backup, os.DirFS(data)) })

	cloud := &volume.Cloud{}
	leader, probing := runProcess(t, c, cloud), runProcess(t, c, nil)
	wait.Until(t, "the volume is ready", func() bool { return isReady(t, admin) })
	wait.Until(t, "there is a leader", func() bool { return leader.lease.Deadline().After(time.Now()) })
	for n := range 300 { // more writes than an API server makes when it starts
		write(t, admin, keptKey, fmt.Sprint("new-", n))
	}
	write(t, admin, lateKey, "new")
	for _, p := range []*process{leader, probing} {
		wait.Until(t, "the cache is up to date",
			func() bool { return p.caches(lateKey) == "new" && p.caches(keptKey) == "new-299" })
	}
	asked := probing.lists.answered.Load()
	wait.Until(t, "the probe has seen the last version", func() bool { return probing.lists.answered.Load() > asked+1 })
	if leader.ended() || probing.ended() {
		t.Fatalf("a process ends without a restore: %v, %v", leader.err, probing.err)
	}

	whileDown(t, own, func() error { return stderrors.Join(os.RemoveAll(data), os.CopyFS(data, os.DirFS(backup))) })
	for name, p := range map[string]*process{"lease": leader, "probe": probing} {
		wait.Until(t, "the process ends by its "+name, p.ended)
		if !errors.Is(p.err, controller.ErrRestored) {
			t.Errorf("by its %s the process ends with %v", name, p.err)
		}
	}

	if v := volumeAt(t, admin); v.GetAnnotations()["krateo.io/external-name"] != "vol-1" || isReady(t, admin) {
		t.Errorf("the volume is restored, and its record is not written back: %+v", v)
	}
	next := runProcess(t, c, cloud)
	wait.Until(t, "the next process leads", func() bool { return next.lease.Deadline().After(time.Now()) })
	if got := next.caches(keptKey); got != "old" || next.caches(lateKey) != "" {
		t.Errorf("the next process knows %q and %q", got, next.caches(lateKey))
	}
	wait.Until(t, "the volume is ready again", func() bool { return isReady(t, admin) })
	if disks := cloud.Disks(); len(disks) != 1 {
		t.Errorf("there are %d external resources", len(disks))
	}
	write(t, admin, keptKey, "after")
	wait.Until(t, "the next process notices what is written", func() bool { return next.caches(keptKey) == "after" })
	renewed := next.lease.Deadline()
	wait.Until(t, "the next process renews its lease", func() bool {
		if next.ended() {
			t.Fatalf("it ends: %v", next.err)
		}

		return next.lease.Deadline().After(renewed.Add(3 * retryPeriod))
	})
}

// TestListVersionGrows checks an assumption of the probe: the version of a list of one object grows when any other
// object is written.
func TestListVersionGrows(t *testing.T) {
	ns := namespace(t, api)
	var versions []string
	for n := range 3 {
		list := &metav1.PartialObjectMetadataList{}
		list.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind("ConfigMapList"))
		if err := api.List(t.Context(), list, client.Limit(1)); err != nil {
			t.Fatal(err)
		}
		versions = append(versions, list.GetResourceVersion())
		if n > 0 && !controller.WentBack(versions[n], versions[n-1]) {
			t.Errorf("the version of a list was %s, and is %s after another object was written", versions[n-1],
				versions[n])
		}
		secret := &corev1.Secret{ObjectMeta: metav1.ObjectMeta{Namespace: ns, GenerateName: "other-"}}
		if err := api.Create(t.Context(), secret); err != nil {
			t.Fatal(err)
		}
		if !controller.WentBack(secret.GetResourceVersion(), versions[n]) {
			t.Errorf("%s is the version of a list before, and %s of what was written then", versions[n],
				secret.GetResourceVersion())
		}
	}
}

const (
	retryPeriod   = 100 * time.Millisecond
	probeInterval = 100 * time.Millisecond
)

// A process is a manager with a cache of ConfigMaps.
type process struct {
	manager manager.Manager
	lease   *controller.Lease
	lists   *counting
	done    chan struct{}
	err     error
}

// A counting reader counts the lists that were answered.
type counting struct {
	client.Reader

	answered atomic.Int64
}

func (c *counting) List(ctx context.Context, list client.ObjectList, o ...client.ListOption) error {
	err := c.Reader.List(ctx, list, o...)
	if err == nil {
		c.answered.Add(1)
	}

	return err
}

// runProcess runs a process until it ends, or the test does. It takes part in the election and manages volumes in a
// cloud, or, without one, probes.
func runProcess(t *testing.T, c *rest.Config, cloud *volume.Cloud) *process {
	t.Helper()
	elects := cloud != nil
	p, d := &process{done: make(chan struct{})}, controller.NewRestoreDetector()
	o := stories.ManagerOptions(scheme)
	o.Cache = cache.Options{DefaultNamespaces: map[string]cache.Config{"default": {}}}
	lock := &resourcelock.LeaseLock{
		LeaseMeta:  metav1.ObjectMeta{Namespace: electionKey.Namespace, Name: electionKey.Name},
		Client:     kubernetes.NewForConfigOrDie(c).CoordinationV1(),
		LockConfig: resourcelock.ResourceLockConfig{Identity: fmt.Sprintf("%p", p)},
	}
	duration, deadline, retry := 5*time.Minute, 4*time.Minute, retryPeriod // long enough for a busy machine
	p.lease = controller.NewLease(lock, deadline, controller.WithRestoreDetector(d))
	if elects {
		o.LeaderElection, o.LeaderElectionID, o.LeaderElectionResourceLockInterface = true, electionKey.Name, p.lease
		o.LeaseDuration, o.RenewDeadline, o.RetryPeriod = &duration, &deadline, &retry
	}
	var err error
	if p.manager, err = manager.New(c, o); err != nil {
		t.Fatal(err)
	}
	parts := []manager.Runnable{d}
	if p.lists = (&counting{Reader: p.manager.GetAPIReader()}); !elects {
		parts = append(parts, controller.NewRestoreProbe(d, p.lists, corev1.SchemeGroupVersion.WithKind("ConfigMap"),
			controller.WithProbeInterval(probeInterval), controller.WithProbeNamespace("default")))
	}
	for _, part := range parts {
		if err := p.manager.Add(part); err != nil {
			t.Fatal(err)
		}
	}
	if elects {
		if err := managed.Setup(p.manager, volume.Kind, controller.Options{}, managed.WithExternalConnecter(cloud),
			managed.WithLeaseDeadline(p.lease.Deadline), managed.WithRestoreDetector(d)); err != nil {
			t.Fatal(err)
		}
	}
	ctx, cancel := context.WithCancel(context.WithoutCancel(t.Context()))
	go func() {
		defer close(p.done)
		p.err = p.manager.Start(ctx)
	}()
	t.Cleanup(func() {
		cancel()
		<-p.done
	})
	if _, err := p.manager.GetCache().GetInformer(t.Context(), &corev1.ConfigMap{}); err != nil {
		t.Fatal(err)
	}

	return p
}

func (p *process) ended() bool {
	select {
	case <-p.done:
		return true
	default:
		return false
	}
}

// caches returns the value that the cache of the process has for a key, or "".
func (p *process) caches(key client.ObjectKey) string {
	found := &corev1.ConfigMap{}
	if err := p.manager.GetClient().Get(context.Background(), key, found); err != nil {
		return ""
	}

	return found.Data["value"]
}

// volumeAt returns the volume as the API server has it.
func volumeAt(t *testing.T, c client.Client) *volume.Volume {
	t.Helper()
	v := &volume.Volume{}
	if err := c.Get(t.Context(), madeKey, v); err != nil {
		t.Fatal(err)
	}

	return v
}

// isReady reports whether the volume is Ready. An API server that has just started may not serve the kind yet.
func isReady(t *testing.T, c client.Client) bool {
	t.Helper()
	v := &volume.Volume{}
	err := c.Get(t.Context(), madeKey, v)

	return err == nil && v.GetCondition(commonv1.TypeReady).Status == metav1.ConditionTrue
}

// write creates or changes a ConfigMap.
func write(t *testing.T, c client.Client, key client.ObjectKey, value string) {
	t.Helper()
	object := &corev1.ConfigMap{
		ObjectMeta: metav1.ObjectMeta{Namespace: key.Namespace, Name: key.Name},
		Data:       map[string]string{"value": value},
	}
	err := c.Create(t.Context(), object)
	if client.IgnoreAlreadyExists(err) == nil && err != nil {
		err = c.Update(t.Context(), object)
	}
	if err != nil {
		t.Fatal(err)
	}
}

// whileDown runs a function while no API server runs.
func whileDown(t *testing.T, c *devcluster.Cluster, what func() error) {
	t.Helper()
	if err := c.Kill(); err != nil {
		t.Fatal(err)
	}
	if err := what(); err != nil {
		t.Fatal(err)
	}
	if err := c.Restart(t.Context()); err != nil {
		t.Fatal(err)
	}
}
