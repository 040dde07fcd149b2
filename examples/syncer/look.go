package main

import (
	"context"
	"errors"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/examples/tour"
	"github.com/moorage-dev/moorage/pkg/resource"
	"github.com/moorage-dev/moorage/pkg/translate"
)

// markerLabel of a host object names the tenant.
var markerLabel = translate.MarkerLabel

// imageOf returns the key of the host's object for an object of the tenant, as an object without content.
func (t *walk) imageOf(kind schema.GroupVersionKind, namespace, name string) *custom {
	return newObject(kind, target, translate.Names{Suffix: tenantName}.PhysicalName(name, namespace), "")
}

// image returns the shipment on the host for one in the tenant's first namespace.
func (t *walk) image(name, route string) *custom {
	return newObject(shipmentKind, target, t.imageOf(shipmentKind, home, name).GetName(), route)
}

// depotOnHost returns the host's own depot, under a name that the tenant will want.
func depotOnHost(route string) *custom {
	return newObject(depotKind, target, translate.Names{Suffix: tenantName}.PhysicalName("old", home), route)
}

// field returns a field of an object as text.
func field(o *custom, path ...string) string {
	got, _, _ := unstructured.NestedString(o.Object, path...)
	return strings.Join(path, ".") + ": " + got
}

// has waits until an object has a field with a value, and returns it.
func (t *walk) has(ctx context.Context, r *tour.Report, from client.Reader, o *custom, want string,
	path ...string) (*custom, error) {
	what := fmt.Sprintf("%s %s/%s with %s: %s", strings.ToLower(o.GetKind()), o.GetNamespace(), o.GetName(),
		strings.Join(path, "."), want)
	return o, r.Until(ctx, what, func(ctx context.Context) error {
		if err := from.Get(ctx, client.ObjectKeyFromObject(o), o); err != nil {
			return err
		}
		if got, _, _ := unstructured.NestedString(o.Object, path...); got != want {
			return errors.New(field(o, path...))
		}
		return nil
	})
}

// shows waits until an object has a field with a value, and reports the field as evidence.
func (t *walk) shows(ctx context.Context, r *tour.Report, where string, from client.Reader, o *custom, want string,
	path ...string) error {
	o, err := t.has(ctx, r, from, o, want, path...)
	if err == nil {
		r.See("%s: %s %s/%s, %s", where, strings.ToLower(o.GetKind()), o.GetNamespace(), o.GetName(), field(o, path...))
	}
	return err
}

// names returns the names of the host's objects of a kind.
func (t *walk) names(ctx context.Context, kind schema.GroupVersionKind) (names []string, err error) {
	list := &unstructured.UnstructuredList{}
	list.SetGroupVersionKind(kind.GroupVersion().WithKind(kind.Kind + "List"))
	err = t.host.List(ctx, list, client.InNamespace(target))
	for _, o := range list.Items {
		names = append(names, kind.Kind+" "+o.GetName())
	}
	return names, err
}

func merge(format string, a ...any) client.Patch {
	return client.RawPatch(types.MergePatchType, fmt.Appendf(nil, format, a...))
}

// report writes the status of a shipment, as a controller on the host would.
func (t *walk) report(ctx context.Context, name, position string) error {
	return t.host.Status().Patch(ctx, t.image(name, ""), merge(`{"status":{"position":%q}}`, position))
}

func secret() *corev1.Secret {
	return &corev1.Secret{
		ObjectMeta: metav1.ObjectMeta{Namespace: target, Name: "key", Labels: map[string]string{shareLabel: "true"}},
		StringData: map[string]string{"word": "sesame"},
	}
}

func (t *walk) share(ctx context.Context, r *tour.Report) error {
	if err := t.host.Create(ctx, secret()); err != nil {
		return err
	}
	return t.tenantSecret(ctx, r, "sesame")
}

func (t *walk) unshare(ctx context.Context, r *tour.Report) error {
	if err := t.host.Patch(ctx, secret(), merge(`{"stringData":{"word":"abracadabra"}}`)); err != nil {
		return err
	}
	if err := t.tenantSecret(ctx, r, "abracadabra"); err != nil {
		return err
	}
	if err := t.host.Patch(ctx, secret(), merge(`{"metadata":{"labels":null}}`)); err != nil {
		return err
	}
	return t.tenantSecret(ctx, r, "")
}

// tenantSecret waits until the tenant's copy has the wanted word. If that is empty, it waits until there is no copy.
func (t *walk) tenantSecret(ctx context.Context, r *tour.Report, want string) error {
	return r.Until(ctx, fmt.Sprintf("that the tenant's secret %s/key has the word %q (none: that it is gone)",
		sharedNamespace, want), func(ctx context.Context) error {
		got := &corev1.Secret{}
		err := t.tenant.Get(ctx, client.ObjectKey{Namespace: sharedNamespace, Name: "key"}, got)
		switch {
		case want == "" && resource.IsNotFound(err):
			r.See("tenant: secret %s/key is not found", sharedNamespace)
			return nil
		case err != nil:
			return err
		case string(got.Data["word"]) != want:
			return fmt.Errorf("its word is %q", got.Data["word"])
		}
		r.See("tenant: secret %s/key, word: %s", sharedNamespace, got.Data["word"])
		return nil
	})
}

func pod() *corev1.Pod {
	return &corev1.Pod{
		ObjectMeta: metav1.ObjectMeta{Namespace: home, Name: "worker"},
		Spec:       corev1.PodSpec{NodeName: "node-1", Containers: []corev1.Container{{Name: "worker", Image: "worker"}}},
	}
}

func (t *walk) nodeComes(ctx context.Context, r *tour.Report) error {
	if err := t.tenant.Create(ctx, pod()); err != nil {
		return err
	}
	return r.Until(ctx, "node-1 in the tenant", func(ctx context.Context) error {
		node := &corev1.Node{}
		err := t.tenant.Get(ctx, client.ObjectKey{Name: pod().Spec.NodeName}, node)
		if err == nil {
			r.See("tenant: pod %s/worker has spec.nodeName: node-1; node %s, label %s=%s", home, node.Name, fakeLabel,
				node.Labels[fakeLabel])
		}
		return err
	})
}

func (t *walk) nodeGoes(ctx context.Context, r *tour.Report) error {
	if err := t.tenant.Delete(ctx, pod(), client.GracePeriodSeconds(0)); err != nil {
		return err
	}
	return r.Until(ctx, "that node-1 is gone", func(ctx context.Context) error {
		err := t.tenant.Get(ctx, client.ObjectKey{Name: pod().Spec.NodeName}, &corev1.Node{})
		switch {
		case resource.IsNotFound(err):
			r.See("tenant: node node-1 is not found")
			return nil
		case err == nil:
			return errors.New("it exists")
		default:
			return err
		}
	})
}
