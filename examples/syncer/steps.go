package main

import (
	"context"
	"errors"
	"fmt"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/translate"
)

// prepare makes what is there before the syncers come: the host's kind, namespaces,
// and an object of somebody else under a name that will be wanted.
func (t *tour) prepare(ctx context.Context) error {
	if err := t.host.Create(ctx, ferryDefinition()); err != nil {
		return err
	}
	err := errors.Join(
		t.host.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: target}}),
		t.tenant.Create(ctx, &corev1.Namespace{ObjectMeta: metav1.ObjectMeta{Name: sharedNamespace}}),
	)
	if err != nil {
		return err
	}
	return t.take(ctx, step{
		do: func(context.Context) error { return nil },
		holds: func(ctx context.Context) error {
			return client.IgnoreAlreadyExists(t.host.Create(ctx, t.image("stolen", "to nowhere")))
		},
	})
}

func (t *tour) steps() []step {
	create := func(name, route string) func(context.Context) error {
		return func(ctx context.Context) error { return t.tenant.Create(ctx, newFerry(home, name, route)) }
	}
	return []step{
		{
			"The syncers start, and copy the kind Ferry from the host to the tenant.", t.startSyncers,
			func(ctx context.Context) error {
				_, err := t.get(ctx, t.tenant, newFerry(home, "none", ""))
				return err
			},
		}, {
			"A ferry of the tenant appears on the host, under a name of its own.", create("princess", "Dover - Calais"),
			t.hostHas("princess", "spec", "route", "Dover - Calais"),
		}, {
			"Its status on the host appears in the tenant.", t.report("princess", "halfway"),
			t.tenantHas("princess", "status", "position", "halfway"),
		}, {
			"A change by the tenant reaches the host.", t.reroute("princess", "Calais - Dover"),
			t.hostHas("princess", "spec", "route", "Calais - Dover"),
		}, {
			"A name that is taken on the host is left alone, and the tenant is told.", create("stolen", "to Dover"), t.refused,
		}, {
			"A secret of the host is shared with the tenant.", t.share, t.tenantSecret("sesame"),
		}, {
			"It changes with the host's, and goes when it is not shared any more.", t.unshare, t.tenantSecret(""),
		}, {
			"A node appears in the tenant for a pod that names it.",
			func(ctx context.Context) error { return t.tenant.Create(ctx, pod()) }, t.hasNode(true),
		}, {
			"It goes with the pod.",
			func(ctx context.Context) error { return t.tenant.Delete(ctx, pod(), client.GracePeriodSeconds(0)) }, t.hasNode(false),
		}, {
			"The tenant's API server crashes and comes back: the host has lost nothing, and syncing goes on.", t.crash, t.recovered,
		}, {
			"The tenant deletes everything: nothing of it is left on the host, and what was not its own still is.", t.deleteAll, t.empty,
		},
	}
}

// image is the ferry on the host for one of the tenant.
func (t *tour) image(name, route string) *ferry {
	return newFerry(target, translate.Names{Suffix: tenantName}.PhysicalName(name, home), route)
}

// get returns nil if there is no such ferry, and an error if it cannot be told.
func (t *tour) get(ctx context.Context, from client.Reader, f *ferry) (*ferry, error) {
	err := from.Get(ctx, client.ObjectKeyFromObject(f), f)
	if resource.IsNotFound(err) {
		return nil, nil
	}
	return f, err
}

func (t *tour) hostHas(name string, path ...string) func(context.Context) error {
	return func(ctx context.Context) error { return t.has(ctx, t.host, t.image(name, ""), path) }
}

func (t *tour) tenantHas(name string, path ...string) func(context.Context) error {
	return func(ctx context.Context) error { return t.has(ctx, t.tenant, newFerry(home, name, ""), path) }
}

// has compares a field; the last element of the path is its value.
func (t *tour) has(ctx context.Context, from client.Reader, f *ferry, path []string) error {
	found, err := t.get(ctx, from, f)
	if err != nil {
		return err
	}
	if found == nil {
		return fmt.Errorf("there is no ferry %s/%s", f.GetNamespace(), f.GetName())
	}
	want := path[len(path)-1]
	if got, _, _ := unstructured.NestedString(found.Object, path[:len(path)-1]...); got != want {
		return fmt.Errorf("ferry %s/%s: got %q, want %q", f.GetNamespace(), f.GetName(), got, want)
	}
	return nil
}

func merge(format string, a ...any) client.Patch {
	return client.RawPatch(types.MergePatchType, fmt.Appendf(nil, format, a...))
}

// report is what a controller of the host would do.
func (t *tour) report(name, position string) func(context.Context) error {
	return func(ctx context.Context) error {
		return t.host.Status().Patch(ctx, t.image(name, ""), merge(`{"status":{"position":%q}}`, position))
	}
}

func (t *tour) reroute(name, route string) func(context.Context) error {
	return func(ctx context.Context) error {
		return t.tenant.Patch(ctx, newFerry(home, name, ""), merge(`{"spec":{"route":%q}}`, route))
	}
}

// refused holds if the foreign ferry is as it was and the tenant has been told.
func (t *tour) refused(ctx context.Context) error {
	if err := t.has(ctx, t.host, t.image("stolen", ""), []string{"spec", "route", "to nowhere"}); err != nil {
		return err
	}
	events := &corev1.EventList{}
	if err := t.tenant.List(ctx, events, client.InNamespace(home)); err != nil {
		return err
	}
	for _, e := range events.Items {
		if e.InvolvedObject.Name == "stolen" && e.Reason == "Conflict" {
			return nil
		}
	}
	return errors.New("no event tells of the conflict")
}

func secret() *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: target, Name: "key", Labels: map[string]string{shareLabel: "true"}},
		StringData: map[string]string{"word": "sesame"},
	}
}

func (t *tour) share(ctx context.Context) error { return t.host.Create(ctx, secret()) }

func (t *tour) unshare(ctx context.Context) error {
	if err := t.host.Patch(ctx, secret(), merge(`{"stringData":{"word":"abracadabra"}}`)); err != nil {
		return err
	}
	if err := t.take(ctx, step{do: func(context.Context) error { return nil }, holds: t.tenantSecret("abracadabra")}); err != nil {
		return err
	}
	return t.host.Patch(ctx, secret(), merge(`{"metadata":{"labels":null}}`))
}

// tenantSecret holds if the tenant's copy has that word, or does not exist if it is
// empty.
func (t *tour) tenantSecret(want string) func(context.Context) error {
	return func(ctx context.Context) error {
		got := &corev1.Secret{}
		err := resource.IgnoreNotFound(t.tenant.Get(ctx, client.ObjectKey{Namespace: sharedNamespace, Name: "key"}, got))
		if err == nil && string(got.Data["word"]) != want {
			return errors.New("the tenant's secret is not as it should be")
		}
		return err
	}
}

func pod() *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: "crew"},
		Spec:       corev1.PodSpec{NodeName: "deck", Containers: []corev1.Container{{Name: "crew", Image: "crew"}}},
	}
}

func (t *tour) hasNode(want bool) func(context.Context) error {
	return func(ctx context.Context) error {
		err := t.tenant.Get(ctx, client.ObjectKey{Name: "deck"}, &corev1.Node{})
		if resource.IgnoreNotFound(err) != nil {
			return err
		}
		if (err == nil) != want {
			return fmt.Errorf("node deck exists: %t, want %t", err == nil, want)
		}
		return nil
	}
}

func (t *tour) crash(ctx context.Context) error {
	if err := t.tenant.Kill(); err != nil {
		return err
	}
	// Something happens on the host meanwhile that makes the syncers look.
	if err := t.report("princess", "in port")(ctx); err != nil {
		return err
	}
	return t.tenant.Restart(ctx)
}

func (t *tour) recovered(ctx context.Context) error {
	return errors.Join(
		t.hostHas("princess", "spec", "route", "Calais - Dover")(ctx),
		t.tenantHas("princess", "status", "position", "in port")(ctx),
	)
}

func (t *tour) deleteAll(ctx context.Context) error {
	return t.tenant.DeleteAllOf(ctx, newFerry(home, "", ""), client.InNamespace(home))
}

func (t *tour) empty(ctx context.Context) error {
	left := &unstructured.UnstructuredList{}
	left.SetGroupVersionKind(ferryKind.GroupVersion().WithKind("FerryList"))
	if err := t.host.List(ctx, left, client.InNamespace(target)); err != nil {
		return err
	}
	if len(left.Items) != 1 {
		return fmt.Errorf("the host has %d ferries, want the one that is not the tenant's", len(left.Items))
	}
	return t.has(ctx, t.host, t.image("stolen", ""), []string{"spec", "route", "to nowhere"})
}
