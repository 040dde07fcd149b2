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

// reference is a kind of objects, in one namespace of the platform cluster, to which objects of the service refer.
type reference struct {
	kind      string
	namespace string
	newObject func() client.Object
	mapFunc   func(context.Context, client.Object) []reconcile.Request // nil if the domain does not watch the kind
}

// referenceSources returns the sources for Secrets and ConfigMaps. They watch only metadata, in one namespace. The
// content of a Secret or ConfigMap is read when it changes, and is not cached.
func (r *APIReconciler[T, C]) referenceSources(mgr ctrl.Manager) ([]source.Source, error) {
	var sources []source.Source
	for _, ref := range []reference{
		{"Secret", r.watches.secretNamespace, func() client.Object { return &corev1.Secret{} }, r.mapSecretToRequests()},
		{"ConfigMap", r.watches.configMapNamespace, func() client.Object { return &corev1.ConfigMap{} },
			r.mapConfigMapToRequests()},
	} {
		if ref.namespace == "" || ref.mapFunc == nil {
			continue
		}
		s, err := r.watchReference(mgr, ref)
		if err != nil {
			return nil, err
		}
		sources = append(sources, s)
	}

	return sources, nil
}

// watchReference returns the source for one kind in one namespace.
func (r *APIReconciler[T, C]) watchReference(mgr ctrl.Manager, ref reference) (source.Source, error) {
	names, err := r.metadataCluster(ref.namespace)
	if err != nil {
		return nil, err
	}
	if err := mgr.Add(names); err != nil {
		return nil, errors.Wrapf(err, "cannot watch the namespace %s of the platform cluster", ref.namespace)
	}
	kind := &metav1.PartialObjectMetadata{}
	kind.SetGroupVersionKind(corev1.SchemeGroupVersion.WithKind(ref.kind))

	return source.Kind(names.GetCache(), client.Object(kind), handler.EventHandler(fanOut{r.mapReference(ref)})), nil
}

// metadataCluster returns the platform cluster with a cache for the metadata of the objects of one namespace.
func (r *APIReconciler[T, C]) metadataCluster(namespace string) (cluster.Cluster, error) {
	whole := r.platform.Cluster()
	if whole == nil {
		return nil, errors.New("the platform cluster has no cache: initialize its client")
	}
	names, err := cluster.New(whole.GetConfig(), func(o *cluster.Options) {
		o.Scheme, o.HTTPClient = whole.GetScheme(), whole.GetHTTPClient()
		o.MapperProvider = func(*rest.Config,
			*http.Client) (meta.RESTMapper, error) {
			return whole.GetRESTMapper(), nil
		}
		o.Cache = cache.Options{
			DefaultNamespaces: map[string]cache.Config{namespace: {}},
			DefaultTransform:  stripMetadata,
		}
	})

	return names, errors.Wrapf(err, "cannot watch the namespace %s of the platform cluster", namespace)
}

// stripMetadata removes metadata that may contain secrets, such as the annotation in which kubectl stores the last
// applied configuration.
func stripMetadata(o any) (any, error) {
	if m, ok := o.(*metav1.PartialObjectMetadata); ok {
		m.Annotations, m.ManagedFields = nil, nil
	}

	return o, nil
}

// mapReference returns a function that reads a changed object and maps it to requests. A deleted object has only
// metadata. If the read fails, the function requeues all objects, because the event is not repeated.
func (r *APIReconciler[T, C]) mapReference(ref reference) func(context.Context, client.Object) []reconcile.Request {
	return func(ctx context.Context, changed client.Object) []reconcile.Request {
		o := ref.newObject()
		err := r.platform.Client().Get(ctx, client.ObjectKeyFromObject(changed), o)
		switch {
		case gone.Answered(err, changed.GetName()):
			o = ref.newObject()
			o.SetNamespace(changed.GetNamespace())
			o.SetName(changed.GetName())
			o.SetUID(changed.GetUID())
			o.SetLabels(changed.GetLabels())
		case err != nil:
			logging.Error(r.logger, r.redactError(err), "failed to read a referenced object")

			return r.enqueueAll(ctx)
		}

		return ref.mapFunc(ctx, o)
	}
}
