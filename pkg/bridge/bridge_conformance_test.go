package bridge_test

import (
	"context"
	"flag"
	"fmt"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/testworld"
	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/bridge"
	"github.com/moorage-dev/moorage/pkg/conformance"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/resource/fake"
)

// within is the time in which schedules with faults are started. Those without faults always run.
var within = flag.Duration("within", 5*time.Second, "for how long the conformance kit begins schedules with faults")

// TestConformance runs the conformance suite of external clients against a bridge to an
// in-memory cluster.
func TestConformance(t *testing.T) {
	for name, first := range map[string]bool{"StatusAndSpec": false, "StatusFirst": true} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			w := newWorld(t, first)
			host := &breakable{Client: &watched{Client: w.p, w: &world{World: testworld.New[client.Client](t, nil)}}}
			w.reg.PhysicalManager = &fake.Manager{Client: host, Scheme: w.p.Scheme()}
			conformance.Run(t, conformance.Suite{
				Kind: volume.Kind, Scheme: w.API.Scheme(), Class: conformance.Named,
				NewConnecter: func() managed.ExternalConnecter {
					b, err := bridge.New(context.Background(), w.reg, w.copier(first))
					if err != nil {
						t.Error(err)
					}
					return b
				},
				Options: w.bridge.Options()[1:],
				Samples: []resource.Managed{newVolume("data", 3), newVolume("data-2", 4)},
				Mutations: []conformance.Mutation{
					{
						Name: "grow", Change: func(mg resource.Managed) { mg.(*volume.Volume).Spec.SizeGiB = 8 },
						Want: map[string]string{"size": "8"},
					},
					{
						Name: "tier", Change: func(mg resource.Managed) { mg.(*volume.Volume).Spec.Tier = "fast" },
						Want: map[string]string{"tier": "fast"},
					},
				},
				Probe: &probe{w.p, host}, Within: *within,
			})
		})
	}
}

// A breakable is a client of the host that can be made to fail.
type breakable struct {
	client.Client

	broken atomic.Bool
}

var errBroken = errors.New("the host is down")

func (b *breakable) Get(ctx context.Context, key client.ObjectKey, obj client.Object, opts ...client.GetOption) error {
	if err := b.fault(); err != nil {
		return err
	}
	return b.Client.Get(ctx, key, obj, opts...)
}

func (b *breakable) Apply(ctx context.Context, ac runtime.ApplyConfiguration, opts ...client.ApplyOption) error {
	if err := b.fault(); err != nil {
		return err
	}
	return b.Client.Apply(ctx, ac, opts...)
}

func (b *breakable) Patch(
	ctx context.Context, obj client.Object, patch client.Patch, opts ...client.PatchOption,
) error {
	if err := b.fault(); err != nil {
		return err
	}
	return b.Client.Patch(ctx, obj, patch, opts...)
}

func (b *breakable) Delete(ctx context.Context, obj client.Object, opts ...client.DeleteOption) error {
	if err := b.fault(); err != nil {
		return err
	}
	return b.Client.Delete(ctx, obj, opts...)
}

// fault returns the configured error, without regard to contexts: clients check those,
// not the bridge.
func (b *breakable) fault() error {
	if b.broken.Load() {
		return errBroken
	}
	return nil
}

// probe accesses the host directly.
type probe struct {
	host   client.Client
	system *breakable
}

const suffix = "-x-" + home + "-x-red"

func (p *probe) List(ctx context.Context) ([]conformance.Resource, error) {
	list := &volume.List{}
	if err := p.host.List(ctx, list, client.InNamespace(target)); err != nil {
		return nil, err
	}
	var out []conformance.Resource
	for i := range list.Items {
		v := &list.Items[i]
		out = append(out, conformance.Resource{
			ID: strings.TrimSuffix(v.Name, suffix), Deleting: v.DeletionTimestamp != nil,
			State: map[string]string{
				"size": fmt.Sprint(v.Spec.SizeGiB), "tier": v.Spec.Tier, "uid": string(v.UID), "marks": fmt.Sprint(v.Annotations),
			},
		})
	}
	return out, nil
}

func (p *probe) of(id string) *volume.Volume {
	return &volume.Volume{ObjectMeta: metav1.ObjectMeta{Namespace: target, Name: id + suffix}}
}

func (p *probe) Remove(ctx context.Context, id string) error {
	return client.IgnoreNotFound(p.host.Delete(ctx, p.of(id)))
}

func (p *probe) Make(ctx context.Context, mg resource.Managed) (string, error) {
	v := p.of(meta.GetExternalName(mg))
	v.Spec = mg.(*volume.Volume).Spec
	return meta.GetExternalName(mg), p.host.Create(ctx, v)
}

func (p *probe) Drift(ctx context.Context, id string) error {
	return p.host.Patch(
		ctx, p.of(id), client.RawPatch(types.MergePatchType, []byte(`{"spec":{"sizeGiB":77,"tier":"drifted"}}`)))
}

func (p *probe) Break(context.Context) (func(context.Context) error, error) {
	p.system.broken.Store(true)
	return func(context.Context) error { p.system.broken.Store(false); return nil }, nil
}
