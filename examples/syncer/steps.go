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

// longName makes a host name that is too long for one.
const longName = "princess-of-the-northern-and-of-the-southern-sea"

// prepare makes what is there before the syncers come: the host's kinds, namespaces, and
// objects of the host's own, two of them under names that will be wanted.
func (t *walk) prepare(ctx context.Context) error {
	for kind, plural := range map[string]string{"Ferry": "ferries", "Pier": "piers"} {
		if err := t.host.Create(ctx, definition(ferryKind.GroupVersion().WithKind(kind), plural)); err != nil {
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
	own := []*custom{t.image("stolen", "to nowhere"), newObject(ferryKind, target, "lifeboat", "around the harbour"), pierOnHost("stone and wood")}
	for _, o := range own {
		// A kind is served a moment after it was defined.
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
		{Claim: "The syncers start, and copy the kinds Ferry and Pier from the host to the tenant.", Within: 20 * time.Second, Show: t.begin},
		{Claim: "The tenant creates two ferries called princess, in two namespaces: each has a name of its own on the host.", Within: 10 * time.Second, Show: t.named},
		{Claim: "A name that would be too long on the host ends in a hash there; the original one stands in an annotation.", Within: 10 * time.Second, Show: t.shortened},
		{Claim: "A controller of the host reports a status: the tenant sees it on its own object.", Within: 10 * time.Second, Show: t.statusUp},
		{Claim: "The tenant changes its object: the change reaches the host.", Within: 10 * time.Second, Show: t.changeDown},
		{Claim: "The host had a pier before, which nobody has marked. The tenant creates one of that name: the host's is adopted, since the syncer of piers says OnConflict: Adopt.", Within: 10 * time.Second, Show: t.adopts},
		{Claim: "The host has a ferry of its own under a name that the tenant wants: the syncer of ferries leaves it alone, and an event tells the tenant.", Within: 10 * time.Second, Show: t.conflicts},
		{Claim: "The conflict ends when the host's own ferry goes: the tenant's appears in its place.", Within: 10 * time.Second, Show: t.conflictEnds},
		{Claim: "A secret of the host is shared with the tenant.", Within: 10 * time.Second, Show: t.share},
		{Claim: "It changes with the host's, and goes when it is not shared any more.", Within: 10 * time.Second, Show: t.unshare},
		{Claim: "A node appears in the tenant for a pod that names it.", Within: 10 * time.Second, Show: t.nodeComes},
		{Claim: "The node goes with the pod.", Within: 10 * time.Second, Show: t.nodeGoes},
		{Claim: "The tenant's API server is killed and comes back: the host keeps the tenant's ferry, and syncing goes on.", Within: 40 * time.Second, Show: t.crash},
		{Claim: "The tenant deletes all it has made: nothing of it is left on the host, the pier included, and what was the host's own still is.", Within: 20 * time.Second, Show: t.deleteAll},
	}
}

func (t *walk) begin(ctx context.Context, r *tour.Report) error {
	for _, name := range []string{"ferries", "piers"} {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		err := t.tenant.Get(ctx, client.ObjectKey{Name: name + "." + ferryKind.Group}, crd)
		if !resource.IsNotFound(err) {
			return fmt.Errorf("the tenant has the definition of %s before, or that cannot be told: %w", name, errors.Join(err))
		}
	}
	if err := t.startSyncers(ctx); err != nil {
		return err
	}
	for _, name := range []string{"ferries", "piers"} {
		crd := &apiextensionsv1.CustomResourceDefinition{}
		err := r.Until(ctx, "the definition of "+name+" in the tenant, Established", func(ctx context.Context) error {
			if err := t.tenant.Get(ctx, client.ObjectKey{Name: name + "." + ferryKind.Group}, crd); err != nil {
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
		if err := t.tenant.Create(ctx, newObject(ferryKind, namespace, "princess", "from "+namespace)); err != nil {
			return err
		}
	}
	for _, namespace := range []string{home, north} {
		o, err := t.has(ctx, r, t.host, t.imageOf(ferryKind, namespace, "princess"), "from "+namespace, "spec", "route")
		if err != nil {
			return err
		}
		r.See("tenant: ferry %s/princess  ->  host: ferry %s/%s, %s", namespace, o.GetNamespace(), o.GetName(), field(o, "spec", "route"))
	}
	return nil
}

func (t *walk) shortened(ctx context.Context, r *tour.Report) error {
	if err := t.tenant.Create(ctx, newObject(ferryKind, home, longName, "far")); err != nil {
		return err
	}
	o, err := t.has(ctx, r, t.host, t.image(longName, ""), "far", "spec", "route")
	if err != nil {
		return err
	}
	for _, want := range []struct{ key, value string }{{translator.NameAnnotation, longName}, {translator.NamespaceAnnotation, home}} {
		if got := o.GetAnnotations()[want.key]; got != want.value {
			return &tour.Missed{Want: fmt.Sprintf("%s: %s on %s", want.key, want.value, o.GetName()), Saw: fmt.Errorf("%q", got)}
		}
	}
	r.See("tenant: ferry %s/%s  ->  host: ferry %s/%s, which has %d characters", home, longName, o.GetNamespace(), o.GetName(), len(o.GetName()))
	r.See("host: annotation %s: %s", translator.NameAnnotation, o.GetAnnotations()[translator.NameAnnotation])
	return nil
}

func (t *walk) statusUp(ctx context.Context, r *tour.Report) error {
	if err := t.report(ctx, "princess", "halfway"); err != nil {
		return err
	}
	return t.shows(ctx, r, "tenant", t.tenant, newObject(ferryKind, home, "princess", ""), "halfway", "status", "position")
}

func (t *walk) changeDown(ctx context.Context, r *tour.Report) error {
	if err := t.tenant.Patch(ctx, newObject(ferryKind, home, "princess", ""), merge(`{"spec":{"route":"Calais - Dover"}}`)); err != nil {
		return err
	}
	return t.shows(ctx, r, "host", t.host, t.image("princess", ""), "Calais - Dover", "spec", "route")
}

// adopts checks that the host's object is the one that was there.
func (t *walk) adopts(ctx context.Context, r *tour.Report) error {
	before := pierOnHost("")
	if err := t.host.Get(ctx, client.ObjectKeyFromObject(before), before); err != nil {
		return err
	}
	if mark := before.GetLabels()[markerLabel]; mark != "" {
		return fmt.Errorf("somebody has marked the host's pier before: %s", mark)
	}
	r.See("before, host: pier %s/%s, uid %s, %s, without the label %s", before.GetNamespace(), before.GetName(), before.GetUID(), field(before, "spec", "route"), markerLabel)
	if err := t.tenant.Create(ctx, newObject(pierKind, home, "old", "wood alone")); err != nil {
		return err
	}
	now, err := t.has(ctx, r, t.host, pierOnHost(""), "wood alone", "spec", "route")
	if err != nil {
		return err
	}
	if now.GetUID() != before.GetUID() || now.GetLabels()[markerLabel] != tenantName {
		return &tour.Missed{Want: fmt.Sprintf("the same pier, with the mark of the tenant %s", tenantName), Saw: fmt.Errorf("uid %s, labels %v", now.GetUID(), now.GetLabels())}
	}
	r.See("now, host:    pier %s/%s, uid %s, %s, label %s=%s", now.GetNamespace(), now.GetName(), now.GetUID(), field(now, "spec", "route"), markerLabel, now.GetLabels()[markerLabel])
	return nil
}

func (t *walk) conflicts(ctx context.Context, r *tour.Report) error {
	if err := t.tenant.Create(ctx, newObject(ferryKind, home, "stolen", "to Dover")); err != nil {
		return err
	}
	err := r.Until(ctx, "a Warning event Conflict on the tenant's ferry stolen", func(ctx context.Context) error {
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
				r.See("tenant: event on ferry %s/stolen: %s %s: %s", home, e.Type, e.Reason, e.Message)
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
	r.See("the host deletes its own ferry %s/%s", target, t.image("stolen", "").GetName())
	return t.shows(ctx, r, "host", t.host, t.image("stolen", ""), "to Dover", "spec", "route")
}

func (t *walk) crash(ctx context.Context, r *tour.Report) error {
	if err := t.tenant.Kill(); err != nil {
		return err
	}
	// Something happens on the host meanwhile that makes the syncers look.
	if err := t.report(ctx, "princess", "in port"); err != nil {
		return err
	}
	if err := t.tenant.Restart(ctx); err != nil {
		return err
	}
	if err := t.shows(ctx, r, "host", t.host, t.image("princess", ""), "Calais - Dover", "spec", "route"); err != nil {
		return err
	}
	return t.shows(ctx, r, "tenant", t.tenant, newObject(ferryKind, home, "princess", ""), "in port", "status", "position")
}

func (t *walk) deleteAll(ctx context.Context, r *tour.Report) error {
	err := errors.Join(
		t.tenant.DeleteAllOf(ctx, newObject(ferryKind, "", "", ""), client.InNamespace(home)),
		t.tenant.DeleteAllOf(ctx, newObject(ferryKind, "", "", ""), client.InNamespace(north)),
		t.tenant.DeleteAllOf(ctx, newObject(pierKind, "", "", ""), client.InNamespace(home)),
	)
	if err != nil {
		return err
	}
	var left []string
	err = r.Until(ctx, "that the host has the lifeboat alone", func(ctx context.Context) error {
		ferries, err := t.names(ctx, ferryKind)
		if err != nil {
			return err
		}
		piers, err := t.names(ctx, pierKind)
		if left = append(ferries, piers...); err == nil && (len(left) != 1 || left[0] != "Ferry lifeboat") {
			err = fmt.Errorf("%v", left)
		}
		return err
	})
	r.See("host: all that is left in the namespace %s: %v", target, left)
	return err
}
