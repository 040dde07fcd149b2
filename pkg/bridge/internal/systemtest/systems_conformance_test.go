package systemtest

import (
	"context"
	"flag"
	"fmt"
	"net/http"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/bridge"
	"github.com/moorage-dev/moorage/pkg/conformance"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/syncer"
	syncertesting "github.com/moorage-dev/moorage/pkg/syncer/testing"
	"github.com/moorage-dev/moorage/pkg/syncer/translator"
	"github.com/moorage-dev/moorage/pkg/test/wait"
)

// Schedules without faults are all held; for how long those with faults are begun.
var within = flag.Duration("within", 5*time.Second, "for how long the conformance kit begins schedules with faults")

// TestConformanceOnServers runs the conformance suite with an API server as the external
// system. It knows field ownership, so updates are applies; in memory they are patches.
func TestConformanceOnServers(t *testing.T) {
	t.Parallel()
	w := newWorld(t)
	probed := newVolume(target, "probed", 1)
	wait.Until(w, "the host serves the kind", func() bool { return w.host.API.Create(t.Context(), probed) == nil })
	w.host.Delete(probed)
	scheme := syncertesting.NewScheme()
	w.Must(volume.AddToScheme(scheme))

	broken, applied := &atomic.Bool{}, &atomic.Int64{}
	host := rest.CopyConfig(w.config["host"])
	host.QPS = -1
	host.Wrap(func(next http.RoundTripper) http.RoundTripper { return wire{next, broken, applied} })
	reg, err := syncer.NewRegisterContext(t.Context(), syncer.RegisterOptions{
		Virtual: w.config["here"], Physical: host, Scheme: scheme, Name: "red", TargetNamespace: target,
	})
	w.Must(err)
	connecter := func() *bridge.Bridge {
		volumes := copier{translator.NewNamespacedTranslator(reg, "volumes", &volume.Volume{})}
		b, err := bridge.New(context.Background(), reg, syncer.FromTyped(&volume.Volume{}, volumes))
		if err != nil {
			t.Error(err)
		}
		return b
	}
	conformance.Run(t, conformance.Suite{
		Kind: volume.Kind, Scheme: scheme, Class: conformance.Named,
		NewConnecter: func() managed.ExternalConnecter { return connecter() },
		Options:      connecter().Options()[1:],
		Samples:      []resource.Managed{newVolume("default", "data", 3), newVolume("default", "data-2", 4)},
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
		Probe: &probe{w.host.API, broken}, CallTimeout: wait.Patience(), Within: *within,
	})
	figure("applied_by_the_conformance_kit", applied.Load())
	if applied.Load() == 0 {
		t.Error("nothing was applied: no field had an owner")
	}
}

// A wire is a transport to the host that can fail. It counts the applies.
type wire struct {
	http.RoundTripper

	broken  *atomic.Bool
	applied *atomic.Int64
}

var errCut = errors.New("the host cannot be reached")

func (w wire) RoundTrip(r *http.Request) (*http.Response, error) {
	if w.broken.Load() {
		return nil, errCut
	}
	if r.Method == http.MethodPatch && strings.HasPrefix(r.Header.Get("Content-Type"), "application/apply-patch") {
		w.applied.Add(1)
	}
	return w.RoundTripper.RoundTrip(r)
}

// probe accesses the host directly.
type probe struct {
	host   client.Client
	broken *atomic.Bool
}

const suffix = "-x-default-x-red"

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

func (p *probe) Remove(ctx context.Context, id string) error {
	return client.IgnoreNotFound(p.host.Delete(ctx, newVolume(target, id+suffix, 0)))
}

func (p *probe) Make(ctx context.Context, mg resource.Managed) (string, error) {
	v := newVolume(target, meta.GetExternalName(mg)+suffix, 0)
	v.Spec = mg.(*volume.Volume).Spec
	return meta.GetExternalName(mg), p.host.Create(ctx, v)
}

func (p *probe) Drift(ctx context.Context, id string) error {
	return p.host.Patch(ctx, newVolume(target, id+suffix, 0), merge(`{"spec":{"sizeGiB":77,"tier":"drifted"}}`))
}

func (p *probe) Break(context.Context) (func(context.Context) error, error) {
	p.broken.Store(true)
	return func(context.Context) error { p.broken.Store(false); return nil }, nil
}
