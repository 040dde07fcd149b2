package stories

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"testing"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/volume"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/test"
)

// objects is the number of objects that a budget counts.
const objects = 5

// start starts a provider of volumes at a Place.
func start(t *testing.T, at Place, cloud *volume.Cloud, o ...managed.ReconcilerOption) *Provider {
	t.Helper()
	p, m := at(t)
	p.Cloud = cloud
	o = append([]managed.ReconcilerOption{
		managed.WithExternalConnecter(cloud),
		managed.WithPollInterval(100 * time.Millisecond),
		managed.WithVolatileStatus("usedBytes"),
	}, o...)
	if err := managed.Setup(m, volume.Kind, p.options(), o...); err != nil {
		t.Fatal(err)
	}
	Operate(t, m)

	return p
}

// each calls a function with every object.
func (p *Provider) each(do func(*volume.Volume)) {
	p.Helper()
	for i := range objects {
		v := NewVolume(p.Namespace, fmt.Sprintf("v%d", i))
		if err := p.API.Get(p.Context(), client.ObjectKeyFromObject(v), v); client.IgnoreNotFound(err) != nil {
			p.Fatal(err)
		}
		do(v)
	}
}

// all waits until a condition holds for every object.
func (p *Provider) all(what string, holds func(*volume.Volume) bool) {
	p.Helper()
	p.each(func(v *volume.Volume) {
		Eventually(p.T, what, func() bool {
			err := p.API.Get(p.Context(), client.ObjectKeyFromObject(v), v)

			return err == nil && holds(v) || client.IgnoreNotFound(err) == nil && err != nil && holds(nil)
		})
	})
}

// settled waits until every object was observed the given number of times more.
func (p *Provider) settled(looks int) {
	p.Helper()
	n := p.Cloud.Count("Observe")
	Eventually(p.T, "polls", func() bool { return p.Cloud.Count("Observe") >= n+looks*objects })
}

// budget prints the requests and events per object since its last call, and checks them against the maximum.
func (p *Provider) budget(name string, most float64, events float64) {
	p.Helper()
	p.settled(2) // late passes
	p.spend(name, most, events)
}

// spend is budget without waiting for late passes.
func (p *Provider) spend(name string, most float64, events float64) {
	p.Helper()
	p.quiet()
	Eventually(p.T, "events of "+name, func() bool { return float64(len(p.Ledger.Events())) >= events*objects })
	sent, emitted, lags := p.Ledger.Objects(), p.Ledger.Events(), p.Ledger.Lags()
	Figure("requests "+name, float64(len(sent))/objects)
	Figure("events "+name, float64(len(emitted))/objects)
	if got := float64(len(sent)) / objects; got > most {
		p.Errorf("%s: %.1f requests per object, want at most %.0f: %s", name, got, most, test.SummarizeRequests(sent))
	}
	if got := float64(len(emitted)) / objects; got != events {
		p.Errorf("%s: %.1f events per object, want %.0f: %s", name, got, events, test.SummarizeRequests(emitted))
	}
	for _, r := range sent {
		if r.Verb != "PATCH" && (r.Verb != "GET" || r.Resource != p.guards) {
			p.Errorf("%s: %s %s, want patches only", name, r.Verb, r.Resource)
		}
	}
	p.Ledger.Reset()
	p.reaching(name, len(sent)+len(emitted), len(lags))
}

// reaching prints and checks how many requests reached the store, if a Wire counts them. Each request writes once, and
// there are no other writes. Without requests there are no reads, except those for a late cache.
func (p *Provider) reaching(name string, requests, lags int) {
	p.Helper()
	if p.Wire == nil {
		return
	}
	reads, writes := p.Wire.Count()
	Figure("reads in the store "+name, float64(reads)/objects)
	Figure("writes in the store "+name, float64(writes)/objects)
	if writes > requests || requests == 0 && reads > lags {
		p.Errorf("%s: %d requests come to %d reads and %d writes in the store", name, requests, reads, writes)
	}
	p.Wire.Reset()
}

// quiet waits until no request was sent for a while, and all are answered.
func (p *Provider) quiet() {
	p.Helper()
	last, looks := -1, 0
	Eventually(p.T, "quiet", func() bool {
		n := len(p.Ledger.Objects()) + len(p.Ledger.Lags()) + len(p.Ledger.Events())
		if p.Wire != nil {
			reads, writes := p.Wire.Count()
			n += reads + writes
		}
		if n != last || p.Ledger.Underway() > 0 {
			last, looks = n, 0
		}
		looks++ // not by the time: the machine may have stood still meanwhile

		return looks > 40
	})
}

func ready(v *volume.Volume) bool {
	return v != nil && v.GetCondition("Ready").Status == "True" &&
		v.GetCondition("Ready").ObservedGeneration == v.Generation
}

func (p *Provider) create() {
	p.Helper()
	p.Ledger.Reset()
	if p.Wire != nil {
		p.Wire.Reset()
	}
	p.each(func(v *volume.Volume) {
		if err := p.API.Create(p.Context(), NewVolume(v.Namespace, v.Name)); err != nil {
			p.Fatal(err)
		}
	})
	p.all("ready", ready)
}

func (p *Provider) patch(v *volume.Volume, change func()) {
	p.Helper()
	before := client.MergeFrom(v.DeepCopyObject().(client.Object)) // a volume is an object
	change()
	if err := p.API.Patch(p.Context(), v, before); err != nil {
		p.Fatal(err)
	}
}

// RequestBudget checks the number of requests over the life of a resource whose external system assigns the name.
func RequestBudget(t *testing.T, at Place) {
	t.Helper()
	p := start(t, at, &volume.Cloud{})
	p.create()
	p.budget("create to ready", 3, 1)

	for _, d := range p.Cloud.Disks() {
		d.UsedBytes++ // a counter moves on by itself
		p.Cloud.Put(d)
	}
	p.settled(20)
	p.budget("steady", 0, 0)

	p.each(func(v *volume.Volume) { p.patch(v, func() { v.Spec.SizeGiB = 2 }) })
	p.all("updated", func(v *volume.Volume) bool { return ready(v) && v.Status.SizeGiB == 2 })
	p.budget("update by the user", 1, 1)

	for _, d := range p.Cloud.Disks() {
		d.SizeGiB = 9
		p.Cloud.Put(d)
	}
	Eventually(t, "drift corrected", func() bool {
		for _, d := range p.Cloud.Disks() {
			if d.SizeGiB != 2 {
				return false
			}
		}

		return true
	})
	p.budget("drift", 1, 1)

	p.pausing()

	p.each(func(v *volume.Volume) {
		if err := p.API.Delete(p.Context(), v); err != nil {
			t.Fatal(err)
		}
	})
	p.all("deleted", func(v *volume.Volume) bool { return v == nil })
	looks := p.Cloud.Count("Observe")
	p.spend("delete", 1, 1)
	if n := p.Cloud.Count("Observe"); n != looks {
		t.Errorf("%d looks at what is gone", n-looks)
	}
	if disks := p.Cloud.Disks(); len(disks) != 0 {
		t.Errorf("left behind: %v", disks)
	}
}

// pausing checks the requests of pausing an object, and of resuming it.
func (p *Provider) pausing() {
	p.Helper()
	p.each(func(v *volume.Volume) {
		p.patch(v, func() { v.Annotations[meta.AnnotationKeyReconciliationPaused] = "true" })
	})
	p.all("paused", func(v *volume.Volume) bool { return v.GetCondition("Synced").Reason == "ReconcilePaused" })
	p.spend("pause", 1, 1)
	n := p.decided.count("Pause")
	p.each(func(v *volume.Volume) { p.patch(v, func() { v.Labels = map[string]string{"touched": "yes"} }) })
	Eventually(p.T, "passes while paused", func() bool { return p.decided.count("Pause") >= n+objects })
	p.spend("paused", 0, 0)
	p.each(func(v *volume.Volume) {
		p.patch(v, func() { delete(v.Annotations, meta.AnnotationKeyReconciliationPaused) })
	})
	p.all("resumed", func(v *volume.Volume) bool { return v.GetCondition("Synced").Status == "True" })
	p.budget("resumed", 1, 0)
}

// RequestBudgetDeterministicName checks the number of requests over the life of a resource whose name the reconciler
// chooses.
func RequestBudgetDeterministicName(t *testing.T, at Place) {
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
	p := start(t, at, cloud, managed.WithDeterministicExternalName(true))
	p.create()
	p.budget("create to ready named", 2, 1)
	p.settled(20)
	p.budget("steady named", 0, 0)

	v := NewVolume(p.Namespace, "broken")
	if err := p.API.Create(t.Context(), v); err != nil {
		t.Fatal(err)
	}
	Eventually(t, "failure reported", func() bool {
		return p.API.Get(t.Context(), client.ObjectKeyFromObject(v), v) == nil &&
			v.GetCondition("Synced").Reason == "ReconcileError" &&
			len(p.Ledger.Events()) > 0
	})
	p.Ledger.Reset()
	n := cloud.Count("Create")
	Eventually(t, "retries", func() bool { return cloud.Count("Create") >= n+3 })
	sent := append(p.Ledger.Objects(), p.Ledger.Events()...)
	Figure("requests failing create named", float64(len(sent))/3)
	if len(sent) > 0 {
		t.Errorf("three failing retries: %s", test.SummarizeRequests(sent))
	}
	close(fails)
	Eventually(t, "recovered", func() bool {
		return p.API.Get(t.Context(), client.ObjectKeyFromObject(v), v) == nil && ready(v)
	})
}
