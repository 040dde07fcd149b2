package apiserver

import (
	"context"
	"maps"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/apicore"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// CollectGarbage deletes the dependents of objects that no longer exist, as the garbage collector of Kubernetes does
// with the propagation policy Background. An owner exists if there is an object with the kind, the name and the UID of
// the reference, in the namespace of the dependent or without a namespace. The dependent is deleted if none of its
// owners exists. If some of them exist, the references to the others are removed. An owner of a kind that the scheme
// does not have counts as existing. CollectGarbage also collects the dependents of the objects that it deletes. The
// server does not call it by itself.
func (s *Server) CollectGarbage() error {
	s.mu.Lock()
	defer s.mu.Unlock()
	for {
		before := len(s.log)
		for _, at := range slices.SortedFunc(maps.Keys(s.objects), byName) {
			if err := s.collect(at); err != nil {
				return errors.Wrapf(err, "cannot collect %s %s", at.kind.Kind, at.key)
			}
		}
		if len(s.log) == before {
			return nil
		}
	}
}

// collect deletes an object if none of its owners exists, and removes its references to owners that do not exist.
func (s *Server) collect(at id) error {
	v := s.objects[at]
	if v == nil || v.typed.GetDeletionTimestamp() != nil {
		return nil
	}
	owners := v.typed.GetOwnerReferences()
	existing := slices.DeleteFunc(slices.Clone(owners), func(ref metav1.OwnerReference) bool {
		return !s.ownerExists(at.key.Namespace, ref)
	})
	switch {
	case len(existing) == len(owners):
		return nil
	case s.behind != nil && len(existing) == 0:
		return s.collectBehind(v)
	case s.behind != nil:
		return nil // the references have no effect
	case len(existing) == 0:
		uid := v.typed.GetUID()

		return s.delete(v, at.key, &metav1.Preconditions{UID: &uid})
	}
	image := apicore.WithMetadata(v.image)
	refs, _ := apicore.Metadata(image)["ownerReferences"].([]any)
	apicore.Metadata(image)["ownerReferences"] = slices.DeleteFunc(slices.Clone(refs), func(ref any) bool {
		of, _ := ref.(map[string]any)

		return !slices.ContainsFunc(existing, func(o metav1.OwnerReference) bool { return of["uid"] == string(o.UID) })
	})
	_, err := s.commit(v.kind, at.key, image, manager{name: "garbage-collector"})

	return err
}

// ownerExists returns whether the owner of a dependent in the namespace exists.
func (s *Server) ownerExists(namespace string, ref metav1.OwnerReference) bool {
	gvk := schema.FromAPIVersionAndKind(ref.APIVersion, ref.Kind)
	if _, err := s.kindOf(gvk); err != nil {
		return true
	}

	return slices.ContainsFunc([]string{namespace, ""}, func(namespace string) bool {
		owner := s.objects[id{gvk, types.NamespacedName{Namespace: namespace, Name: ref.Name}}]

		return owner != nil && owner.typed.GetUID() == ref.UID
	})
}

// collectBehind deletes an object in the server behind.
func (s *Server) collectBehind(v *version) error {
	o, ok := v.typed.DeepCopyObject().(client.Object)
	if !ok {
		return errors.Errorf("%s is no kind of objects", v.kind.GVK.Kind)
	}
	uid := o.GetUID()

	remove := func(ctx context.Context, c client.Client) error {
		return c.Delete(ctx, o, client.Preconditions{UID: &uid})
	}

	return client.IgnoreNotFound(s.relay(context.Background(), v.kind, o, remove))
}
