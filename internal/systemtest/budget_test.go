package systemtest

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"
	ctrlmetrics "sigs.k8s.io/controller-runtime/pkg/metrics"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/controller"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/test"
)

// How many objects a budget is counted over.
const objects = 5

// A provider runs on the API server, with its requests counted.
type provider struct {
	*testing.T

	api    client.Client // with every permission, not counted
	ns     string
	cloud  *volume.Cloud
	ledger *test.Ledger
}

func startProvider(t *testing.T, at place, cloud *volume.Cloud, o ...managed.ReconcilerOption) *provider {
	t.Helper()
	p, m := at(t)
	p.cloud = cloud
	o = append([]managed.ReconcilerOption{
		managed.WithExternalConnecter(cloud),
		managed.WithPollInterval(100 * time.Millisecond),
		managed.WithVolatileStatus("usedBytes"),
	}, o...)
	if err := managed.Setup(m, volume.Kind, controller.Options{MaxConcurrentReconciles: 2}, o...); err != nil {
		t.Fatal(err)
	}
	operate(t, m)

	return p
}

// Each does something to every object.
func (p *provider) each(do func(*volume.Volume)) {
	p.Helper()
	for i := range objects {
		v := newVolume(p.ns, fmt.Sprintf("v%d", i))
		if err := p.api.Get(p.Context(), client.ObjectKeyFromObject(v), v); client.IgnoreNotFound(err) != nil {
			p.Fatal(err)
		}
		do(v)
	}
}

// All waits until something holds for every object.
func (p *provider) all(what string, holds func(*volume.Volume) bool) {
	p.Helper()
	p.each(func(v *volume.Volume) {
		eventually(p.T, what, func() bool {
			err := p.api.Get(p.Context(), client.ObjectKeyFromObject(v), v)

			return err == nil && holds(v) || client.IgnoreNotFound(err) == nil && err != nil && holds(nil)
		})
	})
}

// Settled waits until every object was looked at a number of times more.
func (p *provider) settled(looks int) {
	p.Helper()
	n := p.cloud.Count("Observe")
	eventually(p.T, "polls", func() bool { return p.cloud.Count("Observe") >= n+looks*objects })
}

// Budget prints what was sent per object since the last call, and checks it.
func (p *provider) budget(name string, most float64, events float64) {
	p.Helper()
	p.settled(2) // what trails behind
	p.spend(name, most, events)
}

// Spend is budget without the wait for passes that trail behind.
func (p *provider) spend(name string, most float64, events float64) {
	p.Helper()
	p.quiet()
	eventually(p.T, "events of "+name, func() bool { return float64(len(p.ledger.Events())) >= events*objects })
	sent, told := p.ledger.Objects(), p.ledger.Events()
	figure("requests "+name, float64(len(sent))/objects)
	figure("events "+name, float64(len(told))/objects)
	if got := float64(len(sent)) / objects; got > most {
		p.Errorf("%s: %.1f requests per object, want at most %.0f: %s", name, got, most, test.SummarizeRequests(sent))
	}
	if got := float64(len(told)) / objects; got != events {
		p.Errorf("%s: %.1f events per object, want %.0f: %s", name, got, events, test.SummarizeRequests(told))
	}
	for _, r := range sent {
		if r.Verb != "PATCH" {
			p.Errorf("%s: %s %s, want patches only", name, r.Verb, r.Resource)
		}
	}
	p.ledger.Reset()
}

// Quiet waits until nothing was sent for a while.
func (p *provider) quiet() {
	p.Helper()
	last, since := -1, time.Now()
	eventually(p.T, "quiet", func() bool {
		if n := len(p.ledger.Objects()) + len(p.ledger.Events()); n != last {
			last, since = n, time.Now()
		}

		return time.Since(since) > 300*time.Millisecond
	})
}

func ready(v *volume.Volume) bool {
	return v != nil && v.GetCondition("Ready").Status == "True" && v.GetCondition("Ready").ObservedGeneration == v.Generation
}

func (p *provider) create() {
	p.Helper()
	p.ledger.Reset()
	p.each(func(v *volume.Volume) {
		if err := p.api.Create(p.Context(), newVolume(v.Namespace, v.Name)); err != nil {
			p.Fatal(err)
		}
	})
	p.all("ready", ready)
}

func (p *provider) patch(v *volume.Volume, change func()) {
	p.Helper()
	before := client.MergeFrom(v.DeepCopyObject().(client.Object)) // a volume is an object
	change()
	if err := p.api.Patch(p.Context(), v, before); err != nil {
		p.Fatal(err)
	}
}

func TestRequestBudget(t *testing.T) {
	everywhere(t, func(t *testing.T, at place) { spendABudget(t, startProvider(t, at, &volume.Cloud{})) })
}

func spendABudget(t *testing.T, p *provider) {
	t.Helper()
	p.create()
	p.budget("create to ready", 3, 1)

	for _, d := range p.cloud.Disks() {
		d.UsedBytes++ // a counter moves on by itself
		p.cloud.Put(d)
	}
	p.settled(20)
	p.budget("steady", 0, 0)

	p.each(func(v *volume.Volume) { p.patch(v, func() { v.Spec.SizeGiB = 2 }) })
	p.all("updated", func(v *volume.Volume) bool { return ready(v) && v.Status.SizeGiB == 2 })
	p.budget("update by the user", 1, 1)

	for _, d := range p.cloud.Disks() {
		d.SizeGiB = 9
		p.cloud.Put(d)
	}
	eventually(t, "drift corrected", func() bool {
		for _, d := range p.cloud.Disks() {
			if d.SizeGiB != 2 {
				return false
			}
		}

		return true
	})
	p.budget("drift", 1, 1)

	p.each(func(v *volume.Volume) {
		p.patch(v, func() { v.Annotations[meta.AnnotationKeyReconciliationPaused] = "true" })
	})
	p.all("paused", func(v *volume.Volume) bool { return v.GetCondition("Synced").Reason == "ReconcilePaused" })
	p.spend("pause", 1, 1)
	n := passes(t, "paused")
	p.each(func(v *volume.Volume) { p.patch(v, func() { v.Labels = map[string]string{"touched": "yes"} }) })
	eventually(t, "passes while paused", func() bool { return passes(t, "paused") >= n+objects })
	p.spend("paused", 0, 0)
	p.each(func(v *volume.Volume) {
		p.patch(v, func() { delete(v.Annotations, meta.AnnotationKeyReconciliationPaused) })
	})
	p.all("resumed", func(v *volume.Volume) bool { return v.GetCondition("Synced").Status == "True" })
	p.budget("resumed", 1, 0)

	p.each(func(v *volume.Volume) {
		if err := p.api.Delete(p.Context(), v); err != nil {
			t.Fatal(err)
		}
	})
	p.all("deleted", func(v *volume.Volume) bool { return v == nil })
	looks := p.cloud.Count("Observe")
	p.spend("delete", 1, 1)
	if n := p.cloud.Count("Observe"); n != looks {
		t.Errorf("%d looks at what is gone", n-looks)
	}
	if disks := p.cloud.Disks(); len(disks) != 0 {
		t.Errorf("left behind: %v", disks)
	}
}

// Passes returns how many passes had an outcome so far.
func passes(t *testing.T, outcome string) float64 {
	t.Helper()
	families, err := ctrlmetrics.Registry.Gather()
	if err != nil {
		t.Fatal(err)
	}
	total := 0.0
	for _, family := range families {
		if family.GetName() != "moorage_managed_passes_total" {
			continue
		}
		for _, m := range family.GetMetric() {
			for _, label := range m.GetLabel() {
				if label.GetName() == "outcome" && label.GetValue() == outcome {
					total += m.GetCounter().GetValue()
				}
			}
		}
	}

	return total
}

func TestRequestBudgetDeterministicName(t *testing.T) { everywhere(t, spendANamedBudget) }

func spendANamedBudget(t *testing.T, at place) {
	t.Helper()
	broken := errors.New("quota exceeded")
	cloud := &volume.Cloud{Named: true}
	fails := make(chan struct{})
	cloud.Before = func(_ context.Context, call string, mg resource.Managed) error {
		select {
		case <-fails:
			return nil
		default:
		}
		if call == "Create" && strings.HasPrefix(mg.GetName(), "broken") {
			return broken
		}

		return nil
	}
	p := startProvider(t, at, cloud, managed.WithDeterministicExternalName(true))
	p.create()
	p.budget("create to ready named", 2, 1)
	p.settled(20)
	p.budget("steady named", 0, 0)

	v := newVolume(p.ns, "broken")
	if err := p.api.Create(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	eventually(t, "failure told", func() bool {
		return p.api.Get(t.Context(), client.ObjectKeyFromObject(v), v) == nil && v.GetCondition("Synced").Reason == "ReconcileError" &&
			len(p.ledger.Events()) > 0
	})
	p.ledger.Reset()
	n := cloud.Count("Create")
	eventually(t, "retries", func() bool { return cloud.Count("Create") >= n+3 })
	sent := append(p.ledger.Objects(), p.ledger.Events()...)
	figure("requests failing create named", float64(len(sent))/3)
	if len(sent) > 0 {
		t.Errorf("three failing retries: %s", test.SummarizeRequests(sent))
	}
	close(fails)
	eventually(t, "recovered", func() bool {
		return p.api.Get(t.Context(), client.ObjectKeyFromObject(v), v) == nil && ready(v)
	})
}
