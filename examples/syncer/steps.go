package main

import (
	"context"
	"errors"
	"fmt"
	"strings"
	"time"

	corev1 "k8s.io/api/core/v1"
	apiextensionsv1 "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/examples/tour"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/syncer/translator"
)

// longName is a name whose translation exceeds the limit of a name on the host.
const longName = "parcel-for-the-northern-and-the-southern-warehouse"

// prepare creates what exists before the syncers start: the host's kinds, namespaces, and the host's own objects, two
// of them under names that the tenant will want.
func (t *walk) prepare(ctx context.Context) error {
	for kind, plural := range map[string]string{"Shipment": "shipments", "Depot": "depots"} {
		if err := t.host.Create(ctx, definition(shipmentKind.GroupVersion().WithKind(kind), plural)); err != nil {
			return err
		}
	}
	err := errors.Join(
		t.host.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: target}}),
		t.tenant.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: sharedNamespace}}),
		t.tenant.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: north}}),
	)
	if err != nil {
		return err
	}
	own := []*custom{t.image("stolen", "to nowhere"), newObject(shipmentKind, target, "internal", "around the depot"),
		depotOnHost("stone and wood")}
	for _, o := range own {
		// The API server serves a kind shortly after its definition is created.
		err := t.until(ctx, "that the host serves "+o.GetKind(), func(ctx context.Context) error {
			return client.IgnoreAlreadyExists(t.host.Create(ctx, o))
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *walk) steps() []tour.Step {
	return []tour.Step{
		{Claim: "The syncers start, and copy the kinds Shipment and Depot from the host to the tenant.",
			Within: 20 * time.Second,
			Show:   t.begin},
		{Claim: "The tenant creates two shipments called parcel, in two namespaces: each has a name of its own on the host.",
			Within: 10 * time.Second, Show: t.named},
		{Claim: "A name that would be too long on the host ends in a hash there; the original one stands in an annotation.",
			Within: 10 * time.Second, Show: t.shortened},
		{Claim: "A controller of the host reports a status: the tenant sees it on its own object.", Within: 10 * time.Second,
			Show: t.statusUp},
		{Claim: "The tenant changes its object: the change reaches the host.", Within: 10 * time.Second, Show: t.changeDown},
		{Claim: "The host had a depot before, without a mark. The tenant creates one of that name: the host's is " +
			"adopted, since the syncer of depots says OnConflict: Adopt.", Within: 10 * time.Second, Show: t.adopts},
		{Claim: "The host has a shipment of its own under a name that the tenant wants: the syncer of shipments leaves it " +
			"alone, and an event informs the tenant.", Within: 10 * time.Second, Show: t.conflicts},
		{Claim: "The conflict ends when the host's own shipment goes: the tenant's appears in its place.",
			Within: 10 * time.Second, Show: t.conflictEnds},
		{Claim: "A secret of the host is shared with the tenant.", Within: 10 * time.Second, Show: t.share},
		{Claim: "It changes with the host's, and goes when it is not shared any more.", Within: 10 * time.Second,
			Show: t.unshare},
		{Claim: "A node appears in the tenant for a pod that names it.", Within: 10 * time.Second, Show: t.nodeComes},
		{Claim: "The node goes with the pod.", Within: 10 * time.Second, Show: t.nodeGoes},
		{Claim: "The tenant's API server is killed and comes back: the host keeps the tenant's shipment, and syncing " +
			"goes on.", Within: 40 * time.Second, Show: t.crash},
		{Claim: "The tenant deletes all it has made: nothing of it is left on the host, the depot included, and what was " +
			"the host's own still is.", Within: 20 * time.Second, Show: t.deleteAll},
	}
}

func (t *walk) begin(ctx context.Context, r *tour.Report) error {
	for _, name := range []string{"shipments", "depots"} {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		err := t.tenant.Get(ctx, client.ObjectKey{Name: name + "." + shipmentKind.Group}, crd)
		if !resource.IsNotFound(err) {
			return fmt.Errorf("the tenant has the definition of %s before, or that cannot be told: %w", name, errors.Join(err))
		}
	}
	if err := t.startSyncers(ctx); err != nil {
		return err
	}
	for _, name := range []string{"shipments", "depots"} {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		err := r.Until(ctx, "the definition of "+name+" in the tenant, Established", func(ctx context.Context) error {
			if err := t.tenant.Get(ctx, client.ObjectKey{Name: name + "." + shipmentKind.Group}, crd); err != nil {
				return err
			}
			for _, c := range crd.Status.Conditions {
				if c.Type == apiextensionsv1.Established && c.Status == apiextensionsv1.ConditionTrue {
					r.See("tenant: customresourcedefinition %s, condition %s=%s", crd.Name, c.Type, c.Status)
					return nil
				}
			}
			return errors.New("it is not Established")
		})
		if err != nil {
			return err
		}
	}
	return nil
}

func (t *walk) named(ctx context.Context, r *tour.Report) error {
	for _, namespace := range []string{home, north} {
		if err := t.tenant.Create(ctx, newObject(shipmentKind, namespace, "parcel", "from "+namespace)); err != nil {
			return err
		}
	}
	for _, namespace := range []string{home, north} {
		o, err := t.has(ctx, r, t.host, t.imageOf(shipmentKind, namespace, "parcel"), "from "+namespace, "spec", "route")
		if err != nil {
			return err
		}
		r.See("tenant: shipment %s/parcel  ->  host: shipment %s/%s, %s", namespace, o.GetNamespace(), o.GetName(),
			field(o, "spec", "route"))
	}
	return nil
}

func (t *walk) shortened(ctx context.Context, r *tour.Report) error {
	if err := t.tenant.Create(ctx, newObject(shipmentKind, home, longName, "far")); err != nil {
		return err
	}
	o, err := t.has(ctx, r, t.host, t.image(longName, ""), "far", "spec", "route")
	if err != nil {
		return err
	}
	for _, want := range []struct{ key, value string }{{translator.NameAnnotation, longName},
		{translator.NamespaceAnnotation, home}} {
		if got := o.GetAnnotations()[want.key]; got != want.value {
			return &tour.Missed{Want: fmt.Sprintf("%s: %s on %s", want.key, want.value, o.GetName()), Saw: fmt.Errorf("%q", got)}
		}
	}
	r.See("tenant: shipment %s/%s  ->  host: shipment %s/%s, which has %d characters", home, longName, o.GetNamespace(),
		o.GetName(), len(o.GetName()))
	r.See("host: annotation %s: %s", translator.NameAnnotation, o.GetAnnotations()[translator.NameAnnotation])
	return nil
}

func (t *walk) statusUp(ctx context.Context, r *tour.Report) error {
	if err := t.report(ctx, "parcel", "halfway"); err != nil {
		return err
	}
	return t.shows(ctx, r, "tenant", t.tenant, newObject(shipmentKind, home, "parcel", ""), "halfway", "status",
		"position")
}

func (t *walk) changeDown(ctx context.Context, r *tour.Report) error {
	if err := t.tenant.Patch(ctx, newObject(shipmentKind, home, "parcel", ""),
		merge(`{"spec":{"route":"Calais - Dover"}}`)); err != nil {
		return err
	}
	return t.shows(ctx, r, "host", t.host, t.image("parcel", ""), "Calais - Dover", "spec", "route")
}

// adopts checks that the tenant's depot becomes the one that the host had before.
func (t *walk) adopts(ctx context.Context, r *tour.Report) error {
	before := depotOnHost("")
	if err := t.host.Get(ctx, client.ObjectKeyFromObject(before), before); err != nil {
		return err
	}
	if mark := before.GetLabels()[markerLabel]; mark != "" {
		return fmt.Errorf("a syncer has marked the host's depot before: %s", mark)
	}
	r.See("before, host: depot %s/%s, uid %s, %s, without the label %s", before.GetNamespace(), before.GetName(),
		before.GetUID(), field(before, "spec", "route"), markerLabel)
	if err := t.tenant.Create(ctx, newObject(depotKind, home, "old", "wood alone")); err != nil {
		return err
	}
	now, err := t.has(ctx, r, t.host, depotOnHost(""), "wood alone", "spec", "route")
	if err != nil {
		return err
	}
	if now.GetUID() != before.GetUID() || now.GetLabels()[markerLabel] != tenantName {
		return &tour.Missed{Want: fmt.Sprintf("the same depot, with the mark of the tenant %s", tenantName),
			Saw: fmt.Errorf("uid %s, labels %v", now.GetUID(), now.GetLabels())}
	}
	r.See("now, host:    depot %s/%s, uid %s, %s, label %s=%s", now.GetNamespace(), now.GetName(), now.GetUID(),
		field(now, "spec", "route"), markerLabel, now.GetLabels()[markerLabel])
	return nil
}

func (t *walk) conflicts(ctx context.Context, r *tour.Report) error {
	if err := t.tenant.Create(ctx, newObject(shipmentKind, home, "stolen", "to Dover")); err != nil {
		return err
	}
	err := r.Until(ctx, "a Warning event Conflict on the tenant's shipment stolen", func(ctx context.Context) error {
		events := &corev1.EventList{}
		if err := t.tenant.List(ctx, events, client.InNamespace(home)); err != nil {
			return err
		}
		var seen []string
		for _, e := range events.Items {
			if e.InvolvedObject.Name != "stolen" {
				continue
			}
			if e.Reason == "Conflict" && e.Type == corev1.EventTypeWarning {
				r.See("tenant: event on shipment %s/stolen: %s %s: %s", home, e.Type, e.Reason, e.Message)
				return nil
			}
			seen = append(seen, e.Reason)
		}
		return fmt.Errorf("events with the reasons [%s]", strings.Join(seen, " "))
	})
	if err != nil {
		return err
	}
	return t.shows(ctx, r, "host", t.host, t.image("stolen", ""), "to nowhere", "spec", "route")
}

func (t *walk) conflictEnds(ctx context.Context, r *tour.Report) error {
	if err := t.host.Delete(ctx, t.image("stolen", "")); err != nil {
		return err
	}
	r.See("the host deletes its own shipment %s/%s", target, t.image("stolen", "").GetName())
	return t.shows(ctx, r, "host", t.host, t.image("stolen", ""), "to Dover", "spec", "route")
}

func (t *walk) crash(ctx context.Context, r *tour.Report) error {
	if err := t.tenant.Kill(); err != nil {
		return err
	}
	// A change on the host meanwhile triggers the syncers.
	if err := t.report(ctx, "parcel", "arrived"); err != nil {
		return err
	}
	if err := t.tenant.Restart(ctx); err != nil {
		return err
	}
	if err := t.shows(ctx, r, "host", t.host, t.image("parcel", ""), "Calais - Dover", "spec", "route"); err != nil {
		return err
	}
	return t.shows(ctx, r, "tenant", t.tenant, newObject(shipmentKind, home, "parcel", ""), "arrived", "status",
		"position")
}

func (t *walk) deleteAll(ctx context.Context, r *tour.Report) error {
	err := errors.Join(
		t.tenant.DeleteAllOf(ctx, newObject(shipmentKind, "", "", ""), client.InNamespace(home)),
		t.tenant.DeleteAllOf(ctx, newObject(shipmentKind, "", "", ""), client.InNamespace(north)),
		t.tenant.DeleteAllOf(ctx, newObject(depotKind, "", "", ""), client.InNamespace(home)),
	)
	if err != nil {
		return err
	}
	var left []string
	err = r.Until(ctx, "that the host has only the shipment internal", func(ctx context.Context) error {
		shipments, err := t.names(ctx, shipmentKind)
		if err != nil {
			return err
		}
		depots, err := t.names(ctx, depotKind)
		if left = append(shipments, depots...); err == nil && (len(left) != 1 || left[0] != "Shipment internal") {
			err = fmt.Errorf("%v", left)
		}
		return err
	})
	r.See("host: all that is left in the namespace %s: %v", target, left)
	return err
}
