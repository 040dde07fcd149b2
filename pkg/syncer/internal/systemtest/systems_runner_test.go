package systemtest

import (
	"context"
	"sync"
	"testing"

	"github.com/google/go-cmp/cmp"
	"go.uber.org/goleak"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/types"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/builder"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/leak"
	"github.com/moorage-dev/moorage/pkg/syncer"
	synccontext "github.com/moorage-dev/moorage/pkg/syncer/context"
	"github.com/moorage-dev/moorage/pkg/syncer/translator"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// probe implements every interface that can be registered and records its calls.
type probe struct {
	translator.NamespacedTranslator

	name string
	log  *stepLog
}

type stepLog struct {
	mu      sync.Mutex
	entries []string
}

func (d *stepLog) add(what string) {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.entries = append(d.entries, what)
}

func (p probe) Name() string { return p.name }

func (p probe) Init(*synccontext.RegisterContext) error {
	p.log.add("init " + p.name)
	return nil
}

func (p probe) RegisterIndices(*synccontext.RegisterContext) error {
	p.log.add("indices " + p.name)
	return nil
}

// ModifyController reads through both clients, which must work.
func (p probe) ModifyController(ctx *synccontext.RegisterContext, b *builder.Builder) (*builder.Builder, error) {
	p.log.add("controller " + p.name)
	for _, c := range []client.Client{ctx.VirtualManager.GetClient(), ctx.PhysicalManager.GetClient()} {
		if err := c.List(ctx.Context, &corev1.ConfigMapList{}, client.InNamespace(ctx.TargetNamespace)); err != nil {
			return nil, err
		}
	}
	return b, nil
}

func (p probe) Register(*synccontext.RegisterContext) error {
	p.log.add("register " + p.name)
	return nil
}

func (probe) SyncDown(*synccontext.SyncContext, client.Object) (ctrl.Result, error) {
	return ctrl.Result{}, nil
}

func (probe) Sync(*synccontext.SyncContext, client.Object, client.Object) (ctrl.Result, error) {
	return ctrl.Result{}, nil
}

func (probe) FakeSyncUp(*synccontext.SyncContext, types.NamespacedName) (ctrl.Result, error) {
	return ctrl.Result{}, nil
}

func (probe) FakeSync(*synccontext.SyncContext, client.Object) (ctrl.Result, error) {
	return ctrl.Result{}, nil
}

// TestRunner verifies the order of the steps, the owner of host objects, and that nothing
// runs after the context has ended.
func TestRunner(t *testing.T) {
	others := append(leak.Connections(), leak.Informers()...)
	others = append(others, goleak.IgnoreCurrent()) // the control planes of this package
	target := namespace(t, hostPlane.api)
	service := &corev1.Service{
		ObjectMeta: metav1.ObjectMeta{Namespace: target, Name: "red"},
		Spec:       corev1.ServiceSpec{ClusterIP: corev1.ClusterIPNone},
	}
	if err := hostPlane.api.Create(t.Context(), service); err != nil {
		t.Fatal(err)
	}
	// Its budget ends the reads of probes, too, which wait for a manager that may not have started.
	reg, err := syncer.NewRegisterContext(wait.Context(t), syncer.RegisterOptions{
		Virtual: tenantPlane.config, Physical: hostPlane.config, Scheme: scheme, Name: "red", TargetNamespace: target,
		ServiceName: "red", SetOwner: true,
	})
	if err != nil {
		t.Fatal(err)
	}
	if err := hostPlane.api.Delete(t.Context(), service); err != nil {
		t.Fatal(err)
	}
	again := &corev1.Service{ObjectMeta: metav1.ObjectMeta{Namespace: target, Name: "red"}, Spec: service.Spec}
	if err := hostPlane.api.Create(t.Context(), again); err != nil {
		t.Fatal(err)
	}
	wait.Until(t, "the service that was recreated owns what is created", func() bool {
		uid, err := reg.RenewOwner(t.Context())
		return err == nil && uid == again.UID
	})
	log := &stepLog{}
	r := syncer.NewRunner(reg)
	var owners []metav1.OwnerReference
	for _, name := range []string{"one", "two"} {
		p := probe{translator.NewNamespacedTranslator(reg, name, &corev1.ConfigMap{}), name, log}
		owners = p.TranslateMetadata(&corev1.ConfigMap{}).GetOwnerReferences()
		if err := r.Register(p); err != nil {
			t.Fatal(err)
		}
	}
	if len(owners) != 1 || owners[0].UID != service.UID || owners[0].Kind != "Service" {
		t.Errorf("the service does not own host objects: %v", owners)
	}
	ctx, stop := context.WithCancel(wait.Context(t))
	defer stop()
	ended := make(chan error, 1)
	go func() { ended <- r.Start(ctx) }()
	select {
	case <-r.Ready():
	case err := <-ended:
		t.Fatalf("ended before it was ready: %v", err)
	}
	stop()
	if err := <-ended; err != nil {
		t.Errorf("ended with %v", err)
	}
	want := []string{
		"init one", "init two", "indices one", "indices two",
		"controller one", "controller one", "register one", "controller two", "controller two", "register two",
	}
	if diff := cmp.Diff(want, log.entries); diff != "" {
		t.Errorf("-want, +got:\n%s", diff)
	}
	leak.VerifyNone(t, others...)
}
