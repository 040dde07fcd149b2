package apiserver

import (
	"context"

	kerrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/apis/meta/v1/unstructured"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/apicore"
	"github.com/moorage-dev/moorage/pkg/errors"
)

// Behind makes this server pass its requests to another server, through the client c. The other server has to be empty,
// and nothing else may write to it. This server records the changes that its requests make in the other server, and
// answers lists from its record.
func (s *Server) Behind(c client.Client) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.behind = c
}

// relay sends a request for an object to the server behind. It ignores the end of the context, because a request that
// has reached a server continues as well.
func (s *Server) relay(ctx context.Context, k *kind, o client.Object,
	do func(context.Context, client.Client) error) error {
	ctx = context.WithoutCancel(ctx)
	err := do(ctx, s.behind)
	if problem := s.mirror(ctx, k, client.ObjectKeyFromObject(o), o, err == nil); problem != nil {
		return problem
	}

	return err
}

// mirror records the new state that an object has in the server behind. For an object that a write has removed, it
// records the object in the response.
func (s *Server) mirror(ctx context.Context, k *kind, key types.NamespacedName, answer client.Object,
	answered bool) error {
	old := s.objects[id{k.GVK, key}]
	now := &unstructured.Unstructured{}
	now.SetGroupVersionKind(k.GVK)
	err := s.behind.Get(ctx, key, now)
	switch {
	case kerrors.IsNotFound(err) && old == nil:
		return nil
	case kerrors.IsNotFound(err) && answered && answer.GetDeletionTimestamp() != nil && len(answer.GetFinalizers()) == 0:
		image, err := runtime.DefaultUnstructuredConverter.ToUnstructured(answer)
		if err != nil {
			return errors.Wrap(err, "cannot see what was done")
		}

		return s.tell(k, key, k.Named(image))
	case kerrors.IsNotFound(err):
		s.remove(old, key)

		return nil
	case err != nil:
		return errors.Wrap(err, "cannot see what was done")
	case old != nil && apicore.Metadata(old.image)["resourceVersion"] == now.GetResourceVersion():
		return nil
	}

	return s.tell(k, key, now.Object)
}

// tell stores a JSON object from the server behind as the current version.
func (s *Server) tell(k *kind, key types.NamespacedName, image map[string]any) error {
	typed, err := k.decode(image)
	if err != nil {
		return errors.Wrap(err, "cannot see what was done")
	}
	s.store(&version{kind: k, image: image, typed: typed, before: s.objects[id{k.GVK, key}]}, key)

	return nil
}

// purgeBehind removes an object from the server behind, even if it has finalizers.
func (s *Server) purgeBehind(v *version) error {
	o, ok := v.typed.DeepCopyObject().(client.Object)
	if !ok {
		return errors.Errorf("%s is no kind of objects", v.kind.GVK.Kind)
	}
	ctx := context.Background()
	free := client.RawPatch(types.MergePatchType, []byte(`{"metadata":{"finalizers":null}}`))
	if err := s.behind.Patch(ctx, o, free); err != nil {
		return client.IgnoreNotFound(err)
	}

	return client.IgnoreNotFound(s.behind.Delete(ctx, o))
}
