package managed

import (
	"context"
	"slices"
	"strings"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// StampKey is the key under which a Stamp is stored in the metadata of an
// external resource. A connection Secret bears that of its object, without a
// cluster, in an annotation of this name: a backup may lose owner references.
const StampKey = "moorage.dev/owner"

// A Stamp names the one object that owns an external resource: cluster, group
// and kind, namespace and name, and UID. The kind is part of it because two
// kinds may be the same thing outside (a key-value bucket is also a stream);
// the UID is, because an object that is created anew under an old name does not
// inherit.
type Stamp string

// NewStamp returns the stamp of a managed resource of the given kind in the
// cluster with the given UID, see ClusterUID.
func NewStamp(cluster types.UID, of schema.GroupKind, mg resource.Managed) Stamp {
	return Stamp(strings.Join([]string{
		string(cluster), of.Group, of.Kind, mg.GetNamespace(), mg.GetName(), string(mg.GetUID()),
	}, "/"))
}

// Owner compares the stamp found on an external resource (empty if there is
// none) with the stamp s that the object in hand would put there.
func (s Stamp) Owner(found string) Owner {
	switch found {
	case "":
		return OwnerNobody
	case string(s):
		return OwnerOurs
	default:
		return OwnerOther
	}
}

// names says whether the stamp names an object of the same kind, namespace and name as
// other does, of whatever cluster and UID.
func (s Stamp) names(other Stamp) bool {
	these, those := strings.Split(string(s), "/"), strings.Split(string(other), "/")

	return len(these) == stampParts && len(those) == stampParts &&
		slices.Equal(these[1:stampParts-1], those[1:stampParts-1])
}

// cluster returns the UID of the cluster that the stamp names, or nothing: this is no stamp.
func (s Stamp) cluster() string {
	return s.part(0)
}

// Namespace returns the namespace of the object that the stamp names, in whichever
// cluster that is, or nothing: the object has none, or this is no stamp of ours.
func (s Stamp) Namespace() string {
	return s.part(stampNamespace)
}

// part returns a part of the stamp by its number, or nothing: this is no stamp.
func (s Stamp) part(number int) string {
	if strings.Count(string(s), "/") != stampParts-1 {
		return ""
	}
	rest := string(s)
	for range number {
		_, rest, _ = strings.Cut(rest, "/")
	}
	part, _, _ := strings.Cut(rest, "/")

	return part
}

// The parts of a stamp: none of them contains what they are joined by.
const (
	stampParts     = 6
	stampNamespace = 3
	stampUID       = 5
)

// ClusterUID returns what identifies a Kubernetes cluster for its lifetime: the
// UID of its namespace kube-system. It needs permission to get that namespace
// and is meant to be called once per process, with a reader that has no cache.
func ClusterUID(ctx context.Context, r client.Reader) (types.UID, error) {
	ns := &corev1.Namespace{}
	if err := r.Get(ctx, client.ObjectKey{Name: "kube-system"}, ns); err != nil {
		return "", errors.Wrap(err, "cannot read namespace kube-system, whose uid identifies the cluster")
	}

	return ns.GetUID(), nil
}
