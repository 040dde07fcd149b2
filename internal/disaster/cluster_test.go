package disaster_test

import (
	"context"
	"errors"
	"fmt"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/go-logr/logr/funcr"
	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/envtest"
	"sigs.k8s.io/controller-runtime/pkg/manager"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/internal/volume/stories"
	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/devcluster"
	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// A cluster is an API server with the kind installed, and namespaces by class.
type cluster struct {
	*testing.T

	server *devcluster.Cluster
	config *rest.Config
	admin  client.Client
	uid    types.UID
	stop   func() // the provider, if it runs
	log    lines  // of the provider
}

// A lines value has the log of a provider. It may be used by several goroutines.
type lines struct {
	mu  sync.Mutex
	all []string
}

// logger returns a logger that keeps its lines, but for those of debugging.
func (l *lines) logger() logging.Logger {
	return logging.NewLogrLogger(funcr.New(func(_, line string) {
		l.mu.Lock()
		defer l.mu.Unlock()
		l.all = append(l.all, line)
	}, funcr.Options{}))
}

// names reports whether a line has all these words.
func (l *lines) names(words ...string) bool {
	l.mu.Lock()
	defer l.mu.Unlock()

	return slices.ContainsFunc(l.all, func(line string) bool {
		return !slices.ContainsFunc(words, func(word string) bool { return !strings.Contains(line, word) })
	})
}

func newCluster(t *testing.T) *cluster {
	t.Helper()
	c := &cluster{T: t, stop: func() {}}
	var err error
	if c.server, err = devcluster.Start(t.Context(), devcluster.Options{Own: true, Progress: os.Stderr}); err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		c.stop()
		_ = c.server.Stop()
	})
	if c.config, err = c.server.RESTConfig(); err != nil {
		t.Fatal(err)
	}
	scheme, err := stories.Scheme()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := envtest.InstallCRDs(c.config, envtest.CRDInstallOptions{
		CRDs: []*apiextensionsv1.CustomResourceDefinition{volume.CRD()}, Scheme: scheme, MaxTime: wait.Patience(),
	}); err != nil {
		t.Fatal(err)
	}
	if c.admin, err = client.New(c.config, client.Options{Scheme: scheme}); err != nil {
		t.Fatal(err)
	}
	if c.uid, err = managed.ClusterUID(t.Context(), c.admin); err != nil {
		t.Fatal(err)
	}
	for _, class := range classes() {
		if err := c.admin.Create(t.Context(),
			&corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: class.name}}); err != nil {
			t.Fatal(err)
		}
	}

	return c
}

// run runs a provider of all classes until the cluster is stopped. A process that ends because
// the API server was restored is started again, as a cluster does; restarted counts these.
func (c *cluster) run(systems []*system) (restarted func() int) {
	c.Helper()
	ctx, cancel := context.WithCancel(context.WithoutCancel(c.Context()))
	ends := make(chan int, 1)
	ends <- 0
	done := make(chan struct{})
	go func() {
		defer close(done)
		for ctx.Err() == nil {
			if err := c.process(ctx, systems); errors.Is(err, controller.ErrRestored) {
				ends <- 1 + <-ends
			} else if err != nil {
				c.Errorf("the provider ends with %v", err)

				return
			}
		}
	}()
	c.stop = func() {
		cancel()
		<-done
		c.stop = func() {}
	}

	return func() int {
		n := <-ends
		ends <- n

		return n
	}
}

// process runs managers of all classes, until ctx ends or the API server was restored.
func (c *cluster) process(ctx context.Context, systems []*system) error {
	ctx, cancel := context.WithCancel(ctx)
	defer cancel()
	restores := controller.NewRestoreDetector()
	ended := make(chan error, len(systems))
	for i, s := range systems {
		m, err := c.manager(s, restores, i == 0)
		if err != nil {
			return err
		}
		go func() { ended <- m.Start(ctx) }()
	}
	var first error
	for range systems {
		if err := <-ended; first == nil {
			first = err
		}
		cancel()
	}

	return first
}

// manager returns one that reconciles the objects of a class. One of them looks after restores.
func (c *cluster) manager(s *system, restores *controller.RestoreDetector, probes bool) (manager.Manager, error) {
	o := stories.ManagerOptions(c.admin.Scheme())
	o.Cache = managed.CacheOptions()
	o.Cache.DefaultNamespaces = map[string]cache.Config{s.name: {}}
	m, err := manager.New(c.config, o)
	if err != nil {
		return nil, err
	}
	if probes {
		probe := controller.NewRestoreProbe(restores, m.GetAPIReader(), schema.GroupVersionKind(volume.Kind),
			controller.WithProbeInterval(probeInterval))
		if err := errors.Join(m.Add(restores), m.Add(probe)); err != nil {
			return nil, err
		}
	}
	options := append([]managed.ReconcilerOption{
		managed.WithExternalConnecter(s.connecter(c.uid)), managed.WithPollInterval(pollInterval),
		managed.WithSpreadAfterRestart(false), managed.WithRestoreDetector(restores),
		managed.WithLogger(c.log.logger()),
	}, s.options...)

	return m, managed.Setup(m, volume.Kind, controller.Options{MaxConcurrentReconciles: 4}, options...)
}

// volumes returns all objects.
func (c *cluster) volumes() []volume.Volume {
	c.Helper()
	all := &volume.List{}
	if err := c.admin.List(c.Context(), all); err != nil {
		c.Fatal(err)
	}

	return all.Items
}

// fill creates so many objects of each class.
func (c *cluster) fill(from, to int) {
	c.Helper()
	for i := from; i < to; i++ {
		c.create(fmt.Sprintf("data-%03d", i))
	}
}

// create creates an object of each class, which publishes connection details to a Secret of its name.
func (c *cluster) create(name string) {
	c.Helper()
	for _, class := range classes() {
		v := stories.NewVolume(class.name, name)
		v.Spec.WriteConnectionSecretToRef = &commonv1.LocalSecretReference{Name: name}
		if err := c.admin.Create(c.Context(), v); err != nil {
			c.Fatal(err)
		}
	}
}

// answer sets the external names of the objects whose creation is unresolved: those of the resources
// that were created for the objects they were restored from. docs/backup.md describes it for
// administrators.
func (c *cluster) answer(systems []*system, from types.UID, backup []volume.Volume) (answered int) {
	c.Helper()
	names := map[managed.Stamp][]string{}
	for _, s := range systems {
		maps.Copy(names, s.owned())
	}
	for _, v := range c.volumes() {
		if v.GetCondition(commonv1.TypeSynced).Reason != commonv1.ReasonCreationUnresolved {
			continue
		}
		old := slices.IndexFunc(backup, func(old volume.Volume) bool {
			return old.Namespace == v.Namespace &&
				old.Name == v.Name
		})
		made := names[stampOf(from, &backup[old])]
		if len(made) != 1 {
			c.Fatalf("%s/%s made %v", v.Namespace, v.Name, made)
		}
		patch := client.RawPatch(types.MergePatchType,
			fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, meta.AnnotationKeyExternalName, made[0]))
		if err := c.admin.Patch(c.Context(), &v, patch); err != nil {
			c.Fatal(err)
		}
		answered++
	}

	return answered
}

// remove deletes the first objects of each class, and waits until they are gone.
func (c *cluster) remove(n int) {
	c.Helper()
	before := len(c.volumes())
	for _, class := range classes() {
		for i := range n {
			if err := c.admin.Delete(c.Context(),
				stories.NewVolume(class.name, fmt.Sprintf("data-%03d", i))); err != nil {
				c.Fatal(err)
			}
		}
	}
	wait.Until(c.T, "the deleted objects are gone", func() bool { return len(c.volumes()) == before-n*len(classes()) })
}

// resize changes the size in the spec of all objects.
func (c *cluster) resize(gib int64) {
	c.Helper()
	for _, v := range c.volumes() {
		patch := client.RawPatch(types.MergePatchType, fmt.Appendf(nil, `{"spec":{"sizeGiB":%d}}`, gib))
		if err := c.admin.Patch(c.Context(), &v, patch); err != nil {
			c.Fatal(err)
		}
	}
}

// settled reports whether all objects are Synced, with their newest generation, and Ready.
func settled(all []volume.Volume) bool {
	for _, v := range all {
		ready, synced := v.GetCondition(commonv1.TypeReady), v.GetCondition(commonv1.TypeSynced)
		if synced.Reason != commonv1.ReasonReconcileSuccess || synced.ObservedGeneration != v.Generation ||
			ready.Status != metav1.ConditionTrue {
			return false
		}
	}

	return true
}

// secrets returns the connection Secrets of all objects.
func (c *cluster) secrets() []corev1.Secret {
	c.Helper()
	all := &corev1.SecretList{}
	if err := c.admin.List(c.Context(), all); err != nil {
		c.Fatal(err)
	}

	return slices.DeleteFunc(all.Items, func(s corev1.Secret) bool {
		return !slices.ContainsFunc(classes(), func(of class) bool { return of.name == s.Namespace })
	})
}

// restoreFrom creates the objects of a backup of another cluster, by the rules of Velero: first the Secrets, then
// the objects, without status and owners, with new UIDs, and with their annotations, labels and finalizers.
func (c *cluster) restoreFrom(of saved) {
	c.Helper()
	labels := map[string]string{"velero.io/backup-name": "drill", "velero.io/restore-name": "drill"}
	for _, old := range of.secrets {
		s := &corev1.Secret{
			ObjectMeta: metav1.ObjectMeta{
				Namespace: old.Namespace, Name: old.Name, Annotations: old.Annotations,
				Labels: labels,
			},
			Type: old.Type, Data: old.Data,
		}
		if err := c.admin.Create(c.Context(), s); err != nil {
			c.Fatal(err)
		}
	}
	for _, old := range of.objects {
		v := stories.NewVolume(old.Namespace, old.Name)
		v.Spec, v.Annotations, v.Finalizers, v.Labels = old.Spec, old.Annotations, old.Finalizers, labels
		if err := c.admin.Create(c.Context(), v); err != nil {
			c.Fatal(err)
		}
	}
}

// say annotates all objects with the cluster that they were restored from. docs/backup.md
// describes it for administrators.
func (c *cluster) say(from types.UID) {
	c.Helper()
	for _, v := range c.volumes() {
		patch := client.RawPatch(types.MergePatchType,
			fmt.Appendf(nil, `{"metadata":{"annotations":{%q:%q}}}`, meta.AnnotationKeyRestoredFrom, from))
		if err := c.admin.Patch(c.Context(), &v, patch); err != nil {
			c.Fatal(err)
		}
	}
}

// etcd returns the folder of its data.
func (c *cluster) etcd() string { return filepath.Join(c.server.Dir, "etcd") }

// whileDown runs a function while no API server runs.
func (c *cluster) whileDown(what func() error) {
	c.Helper()
	if err := errors.Join(c.server.Kill(), what()); err != nil {
		c.Fatal(err)
	}
	if err := c.server.Restart(c.Context()); err != nil {
		c.Fatal(err)
	}
}
