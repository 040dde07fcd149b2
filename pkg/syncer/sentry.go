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

// ErrVirtualClusterReplaced is returned, wrapped, if another cluster answers than at
// the start, or the same one after it lost its data: the UID of its kube-system
// namespace differs.
var ErrVirtualClusterReplaced = errors.New("another cluster answers in place of the virtual cluster")

// errNotShown ends a pass whose cache differs from the API server: the event that
// brings the cache up to date begins the next one.
var errNotShown = errors.New("the virtual cache is behind")

// ErrHostReplaced is what ErrVirtualClusterReplaced is, of the host.
var ErrHostReplaced = errors.New("another cluster answers in place of the host")

// A HostWitness says of what a syncer does not find on the host whether it is gone:
// for syncers that delete in the virtual cluster what the host does not have any more.
// It may be used concurrently. Make one with NewHostWitness.
type HostWitness struct{ sentry *sentry }

// NewHostWitness returns a witness of the host that answers now, which is known by
// the UID of its kube-system namespace. It asks the API server, with the permission to
// get that namespace.
func NewHostWitness(ctx context.Context, reg *synccontext.RegisterContext) (*HostWitness, error) {
	s := &sentry{reader: reg.PhysicalManager.GetAPIReader(), of: "host", replaced: ErrHostReplaced}
	var err error
	s.uid, err = identify(ctx, s.reader, s.of)
	return &HostWitness{s}, err
}

// UID returns that of the host's kube-system namespace.
func (w *HostWitness) UID() types.UID { return w.sentry.uid }

// Gone returns nil if the host surely has no object of that kind and name: its API
// server says so, and the right one answers before and after that. The object is
// empty and is not changed. If there is one, the error is a conflict, which a syncer
// that returns it tries again; if another cluster answers, it wraps ErrHostReplaced.
func (w *HostWitness) Gone(ctx context.Context, empty client.Object, name types.NamespacedName) error {
	err := w.sentry.confirm(ctx, empty, name, "")
	if errors.Is(err, errNotShown) {
		return apierrors.NewConflict(schema.GroupResource{Resource: "objects"}, name.Name, errors.New("the host has it"))
	}
	return err
}

const virtualCluster = "virtual cluster"

// A sentry confirms with an API server what a cache of it says.
type sentry struct {
	reader   client.Reader // asks the API server
	uid      types.UID     // of the kube-system namespace, at the start
	of       string        // the cluster, in words
	replaced error         // what it is if another one answers
}

// newSentry pins the virtual cluster of that UID, which must answer now, or without
// one the cluster that answers now.
func newSentry(ctx context.Context, reader client.Reader, uid types.UID) (*sentry, error) {
	s := &sentry{reader: reader, uid: uid, of: virtualCluster, replaced: ErrVirtualClusterReplaced}
	if uid != "" {
		return s, s.same(ctx)
	}
	var err error
	s.uid, err = identify(ctx, reader, s.of)
	return s, err
}

// identify returns what makes a cluster itself for as long as it keeps its data.
func identify(ctx context.Context, reader client.Reader, of string) (types.UID, error) {
	// The whole object: a reader of metadata alone may go through a cache.
	ns := &corev1.Namespace{}
	err := reader.Get(ctx, client.ObjectKey{Name: metav1.NamespaceSystem}, ns)
	return ns.UID, errors.Wrapf(err, "cannot read the namespace kube-system of the %s, by which it is known", of)
}

// confirm returns nil if the API server shows the object with that UID, or none if
// the UID is empty. Who answers is asked before and after that: of a swap that falls
// in between, one of the two is told.
func (s *sentry) confirm(ctx context.Context, empty client.Object, name types.NamespacedName, uid types.UID) error {
	if err := s.same(ctx); err != nil {
		return err
	}
	obj := empty.DeepCopyObject().(client.Object)
	err := s.reader.Get(ctx, name, obj)
	absent := gone.Answered(err, name.Name)
	if err != nil && !absent {
		return errors.Wrapf(err, "cannot ask the %s for the object", s.of)
	}
	err = s.same(ctx)
	switch {
	case err != nil:
		return err
	case absent && uid == "", !absent && uid != "" && obj.GetUID() == uid:
		return nil
	default:
		return errNotShown
	}
}

// same returns nil if the pinned cluster answers.
func (s *sentry) same(ctx context.Context) error {
	now, err := identify(ctx, s.reader, s.of)
	if err != nil {
		return s.unidentified(err)
	}
	if now != s.uid {
		return errors.Wrapf(s.replaced, "its kube-system namespace has UID %s, at the start it was %s", now, s.uid)
	}
	return nil
}

// unidentified says what it means that the cluster could not be identified.
func (s *sentry) unidentified(err error) error {
	switch {
	case gone.Answered(err, metav1.NamespaceSystem):
		return errors.Wrap(s.replaced, "it has no namespace kube-system")
	case gone.Unserved(err):
		// Every API server serves namespaces. Unlike a kind that is not served, this passes.
		return errors.Errorf("cannot tell which %s answers, because what answers is no API server: %v", s.of, err)
	default:
		return err
	}
}
