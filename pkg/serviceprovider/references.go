package serviceprovider

import (
	"context"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/cache"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/cluster"
	"sigs.k8s.io/controller-runtime/pkg/handler"
	"sigs.k8s.io/controller-runtime/pkg/reconcile"
	"sigs.k8s.io/controller-runtime/pkg/source"

	"github.com/moorage-dev/moorage/internal/gone"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/logging"
)

// A reference is a kind in a namespace of the platform that objects of the service refer
// to.
type reference struct {
	kind      string
	namespace string
	empty     func() client.Object
	to        func(context.Context, client.Object) []reconcile.Request // nil: the domain does not care
}

// References returns what lets objects be looked at because of Secrets and ConfigMaps.
// Only their names and versions are watched, in their namespace alone: what is in them is
// read when they change, and kept nowhere.
func (r *APIReconciler[T, C]) references(mgr ctrl.Manager) ([]source.Source, error) {
	var sources []source.Source
	for _, ref := range []reference{
		{"Secret", r.secretNamespace, func() client.Object { return &corev1.Secret{} }, r.mapSecretToRequests()},
		{"ConfigMap", r.configMapNamespace, func() client.Object { return &corev1.ConfigMap{} }, r.mapConfigMapToRequests()},
	} {
		if ref.namespace == "" || ref.to == nil {
			continue
		}
		s, err := r.watch(mgr, ref)
		if err != nil {
			return nil, err
		}
		sources = append(sources, s)
	}

	return sources, nil
}

// Watch returns what lets objects be looked at because of one kind in one namespace.
func (r *APIReconciler[T, C]) watch(mgr ctrl.Manager, ref reference) (source.Source, error) {
	names, err := r.namesIn(ref.namespace)
	if err != nil {
		return nil, err
	}
	if err := mgr.Add(names); err != nil {
		return nil, errors.Wrapf(err, "cannot watch the namespace %s of the platform cluster", ref.namespace)
	}
	kind := &metav1.PartialObjectMetadata{}
	kind.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(ref.kind))

	return source.Kind(names.GetCache(), client.Object(kind), handler.EventHandler(fanOut{r.live(ref)})), nil
}

// NamesIn returns the platform cluster with a cache of one namespace, for names and
// versions.
func (r *APIReconciler[T, C]) namesIn(namespace string) (cluster.Cluster, error) {
	whole := r.platform.Cluster()
	if whole == nil {
		return nil, errors.New("the platform cluster has no cache: initialize its client")
	}
	names, err := cluster.New(whole.GetConfig(), func(o *cluster.Options) {
		o.Scheme, o.HTTPClient = whole.GetScheme(), whole.GetHTTPClient()
		o.MapperProvider = func(*rest.Config, *http.Client) (meta.RESTMapper, error) { return whole.GetRESTMapper(), nil }
		o.Cache = cache.Options{DefaultNamespaces: map[string]cache.Config{namespace: {}}, DefaultTransform: nameOnly}
	})

	return names, errors.Wrapf(err, "cannot watch the namespace %s of the platform cluster", namespace)
}

// NameOnly strips metadata of what may say more, such as the annotation in which kubectl
// keeps whole Secrets.
func nameOnly(o any) (any, error) {
	if m, ok := o.(*metav1.PartialObjectMetadata); ok {
		m.Annotations, m.ManagedFields = nil, nil
	}

	return o, nil
}

// Live reads what has changed, and returns what that leads to. Of what is gone there is
// only metadata. What cannot be read just now may be for every object: nobody tells of it
// again.
func (r *APIReconciler[T, C]) live(ref reference) func(context.Context, client.Object) []reconcile.Request {
	return func(ctx context.Context, changed client.Object) []reconcile.Request {
		o := ref.empty()
		err := r.platform.Client().Get(ctx, client.ObjectKeyFromObject(changed), o)
		switch {
		case gone.Answered(err, changed.GetName()):
			o = ref.empty()
			o.SetNamespace(changed.GetNamespace())
			o.SetName(changed.GetName())
			o.SetUID(changed.GetUID())
			o.SetLabels(changed.GetLabels())
		case err != nil:
			logging.Error(r.logger, r.redact(err), "failed to read what objects refer to")

			return r.enqueueAll(ctx)
		}

		return ref.to(ctx, o)
	}
}
