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

// StampKey is the key under which a Stamp is stored in the metadata of an external resource.
//
// A connection Secret has an annotation with this key, too, because a backup may lose its owner reference. The value
// is the Stamp of the object without the cluster.
const StampKey = "moorage.dev/owner"

// A Stamp identifies the one object that owns an external resource. It consists of cluster, group, kind, namespace,
// name and UID. It has the kind because objects of two kinds may represent the same external resource. For example, a
// key-value bucket may also be a stream. It has the UID because a new object with the name of a deleted object does not
// own the resource of that object.
type Stamp string

// NewStamp returns the stamp of a managed resource. The arguments are the UID of the cluster, see [ClusterUID], and
// the kind of the managed resource.
func NewStamp(cluster types.UID, of schema.GroupKind, mg resource.Managed) Stamp {
	return Stamp(strings.Join([]string{
		string(cluster), of.Group, of.Kind, mg.GetNamespace(), mg.GetName(), string(mg.GetUID()),
	}, "/"))
}

// Owner returns the owner of an external resource from the point of view of the object with the stamp s. The argument
// found is the stamp on the external resource. It is empty if the resource has no stamp.
func (s Stamp) Owner(found string) Owner {
	switch found {
	case "":
		return OwnerNone
	case string(s):
		return OwnerOurs
	default:
		return OwnerOther
	}
}

// names reports whether both stamps have the same kind, namespace and name, with any cluster and UID.
func (s Stamp) names(other Stamp) bool {
	these, those := strings.Split(string(s), "/"), strings.Split(string(other), "/")

	return len(these) == stampParts && len(those) == stampParts &&
		slices.Equal(these[1:stampParts-1], those[1:stampParts-1])
}

// cluster returns the UID of the cluster in the stamp, or "" if this is no stamp.
func (s Stamp) cluster() string {
	return s.part(0)
}

// The parts of a stamp. None of them contains the separator.
const (
	stampParts     = 6
	stampNamespace = 3
	stampUID       = 5
)

// ClusterUID returns the UID of the namespace kube-system, which identifies a Kubernetes cluster for its lifetime.
// The reader needs the verb get for that namespace, and should have no cache. Call ClusterUID once per process.
func ClusterUID(ctx context.Context, r client.Reader) (types.UID, error) {
	ns := &corev1.Namespace{}
	if err := r.Get(ctx, client.ObjectKey{Name: "kube-system"}, ns); err != nil {
		return "", errors.Wrap(err, "cannot read namespace kube-system, whose uid identifies the cluster")
	}

	return ns.GetUID(), nil
}

// Namespace returns the namespace of the object that the stamp identifies, in any cluster. It returns "" for a
// cluster-scoped object and for an invalid stamp.
func (s Stamp) Namespace() string {
	return s.part(stampNamespace)
}

// part returns a part of the stamp by its index, or "" if this is no stamp.
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
