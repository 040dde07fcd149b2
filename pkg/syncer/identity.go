package syncer

import (
	"context"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/gone"
	"github.com/moorage-dev/moorage/pkg/errors"
	synccontext "github.com/moorage-dev/moorage/pkg/syncer/context"
)

// ErrVirtualClusterReplaced is returned, wrapped, if the UID of the virtual cluster's kube-system namespace is not the
// UID that was read at the start. The cause is that another cluster responds at the address of the virtual cluster, or
// that the virtual cluster lost its data.
var ErrVirtualClusterReplaced = errors.New("another cluster answers in place of the virtual cluster")

// errCacheStale ends a pass whose virtual cache differs from the API server. The event
// that updates the cache triggers the next pass.
var errCacheStale = errors.New("the virtual cache is behind")

// ErrHostReplaced is returned, wrapped, if the UID of the host's kube-system namespace is not the
// UID that was read at the start.
var ErrHostReplaced = errors.New("another cluster answers in place of the host")

// A HostIdentity identifies the host and confirms that a host object is gone. Use it in a syncer
// that deletes virtual objects whose host object no longer exists. Create it with NewHostIdentity.
// It is safe for concurrent use.
type HostIdentity struct{ check *identityCheck }

// NewHostIdentity reads the UID of the host's kube-system namespace and returns a HostIdentity for
// it. The process needs the permission to get this namespace.
func NewHostIdentity(ctx context.Context, reg *synccontext.RegisterContext) (*HostIdentity, error) {
	s := &identityCheck{reader: reg.PhysicalManager.GetAPIReader(), cluster: "host", replacedErr: ErrHostReplaced}
	var err error
	s.uid, err = readIdentity(ctx, s.reader, s.cluster)
	return &HostIdentity{s}, err
}

// UID returns the UID of the host's kube-system namespace.
func (h *HostIdentity) UID() types.UID { return h.check.uid }

// Gone returns nil if the host has no object of this kind and name. It reads the object from the API server, and
// verifies the identity of the host before and after this read. The argument empty is an object of the kind; Gone does
// not change it.
//
// If the object exists, the error is a conflict; a syncer that returns this error is requeued. If another cluster
// responds at the address of the host, the error wraps ErrHostReplaced.
func (h *HostIdentity) Gone(ctx context.Context, empty client.Object, name types.NamespacedName) error {
	err := h.check.confirm(ctx, empty, name, "")
	if errors.Is(err, errCacheStale) {
		return apierrors.NewConflict(schema.GroupResource{Resource: "objects"}, name.Name, errors.New("the host has it"))
	}
	return err
}

// virtualCluster names the virtual cluster in error messages.
const virtualCluster = "virtual cluster"

// An identityCheck verifies that the same cluster answers as at the start, and reads
// objects from its API server.
type identityCheck struct {
	reader      client.Reader // reads from the API server
	uid         types.UID     // UID of the kube-system namespace at the start
	cluster     string        // name of the cluster in error messages
	replacedErr error         // returned if another cluster answers
}

// newIdentityCheck returns a check for the virtual cluster with this UID and verifies it. If uid is
// empty, it reads the UID of the cluster that answers now.
func newIdentityCheck(ctx context.Context, reader client.Reader, uid types.UID) (*identityCheck, error) {
	s := &identityCheck{reader: reader, uid: uid, cluster: virtualCluster, replacedErr: ErrVirtualClusterReplaced}
	if uid != "" {
		return s, s.verify(ctx)
	}
	var err error
	s.uid, err = readIdentity(ctx, reader, s.cluster)
	return s, err
}

// readIdentity returns the UID of the kube-system namespace of a cluster. The UID changes only if
// the cluster loses its data.
func readIdentity(ctx context.Context, reader client.Reader, of string) (types.UID, error) {
	// Read the whole object: a metadata-only read may be served by a cache.
	ns := &corev1.Namespace{}
	err := reader.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, ns)
	return ns.UID, errors.Wrapf(err, "cannot read the namespace kube-system of the %s, by which it is known", of)
}

// confirm returns nil if the API server has the object with this UID, or, for an empty UID, if it
// has no object. It verifies the cluster before and after the read, so that a replacement of the
// cluster in between is detected.
func (s *identityCheck) confirm(
	ctx context.Context, empty client.Object, name types.NamespacedName, uid types.UID,
) error {
	if err := s.verify(ctx); err != nil {
		return err
	}
	obj := empty.DeepCopyObject().(client.Object)
	err := s.reader.Get(ctx, name, obj)
	absent := gone.Answered(err, name.Name)
	if err != nil && !absent {
		return errors.Wrapf(err, "cannot read the object from the %s", s.cluster)
	}
	err = s.verify(ctx)
	switch {
	case err != nil:
		return err
	case absent && uid == "", !absent && uid != "" && obj.GetUID() == uid:
		return nil
	default:
		return errCacheStale
	}
}

// verify returns nil if the UID of the cluster is the UID at the start.
func (s *identityCheck) verify(ctx context.Context) error {
	now, err := readIdentity(ctx, s.reader, s.cluster)
	if err != nil {
		return s.readFailed(err)
	}
	if now != s.uid {
		return errors.Wrapf(s.replacedErr, "its kube-system namespace has UID %s, at the start it was %s", now, s.uid)
	}
	return nil
}

// readFailed interprets an error of readIdentity. If the namespace kube-system is missing, another
// cluster answers. Any other error proves nothing.
func (s *identityCheck) readFailed(err error) error {
	switch {
	case gone.Answered(err, metav1.NamespaceSystem):
		return errors.Wrap(s.replacedErr, "it has no namespace kube-system")
	case gone.Unserved(err):
		// Every API server serves namespaces. Unlike an unserved kind, this is temporary.
		return errors.Errorf("cannot identify the %s: the server that answers is no API server: %v", s.cluster, err)
	default:
		return err
	}
}
