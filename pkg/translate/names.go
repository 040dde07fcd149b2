package translate

import (
	"crypto/sha256"
	"encoding/hex"
	"strings"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
)

const (
	// maxName is the maximal length of label values, label names and most object names.
	maxName = 63
	// maxGenerateName leaves room for the suffix that the API server appends.
	maxGenerateName = 53
	// digestLength is the number of hex digits of the hash in a truncated name.
	digestLength = 10

	separator = "x"

	defaultPrefix = "vcluster"
)

// LabelPrefix is the prefix of the keys of translated labels.
const LabelPrefix = "vcluster.loft.sh/label"

// Names translates the names of one virtual cluster to the names and ownership marks of host
// objects. One process can use several Names, one for each virtual cluster. The methods are safe
// for concurrent use as long as the fields do not change.
type Names struct {
	// Suffix distinguishes this virtual cluster from other virtual clusters on the same host. It is
	// part of host names and of the value of MarkerLabel. It is required.
	Suffix string

	// Owner owns the host objects in its own namespace, so that these host objects are garbage collected with the Owner.
	// Default: nil, which means no owner.
	Owner client.Object

	// Prefix is the prefix of names of cluster-scoped host objects. Default: "vcluster".
	Prefix string

	// Cluster is the UID of the virtual cluster's kube-system namespace. The UID is written to host objects, to detect
	// another cluster at the same address. Default: "", which means that no UID is written.
	Cluster string
}

// PhysicalName returns the host name of a namespaced object, or "" for an empty name. Two objects
// can have the same host name, for example ("a-x-b", "c") and ("a", "b-x-c"). Before you write to
// an existing host object, compare its annotations with the virtual object.
func (n Names) PhysicalName(name, namespace string) string {
	if name == "" {
		return ""
	}
	return SafeConcatName(name, separator, namespace, separator, n.Suffix)
}

// PhysicalNameClusterScoped returns the host name of a cluster-scoped object, or "" for an empty name. The argument
// physicalNamespace is the host namespace of the virtual cluster.
func (n Names) PhysicalNameClusterScoped(name, physicalNamespace string) string {
	if name == "" {
		return ""
	}
	prefix := n.Prefix
	if prefix == "" {
		prefix = defaultPrefix
	}
	return SafeConcatName(prefix, name, separator, physicalNamespace, separator, n.Suffix)
}

// ClusterMarker returns the value of MarkerLabel for cluster-scoped host objects. The value contains the argument
// physicalNamespace, because suffixes are unique only within a host namespace.
func (n Names) ClusterMarker(physicalNamespace string) string {
	return SafeConcatName(physicalNamespace, separator, n.Suffix)
}

// IsManaged reports whether the MarkerLabel of an object names this virtual cluster. It returns
// false for an object without metadata.
func (n Names) IsManaged(obj runtime.Object) bool { return hasMarker(obj, n.Suffix) }

// IsManagedCluster reports whether the MarkerLabel of a cluster-scoped object names this virtual
// cluster.
func (n Names) IsManagedCluster(physicalNamespace string, obj runtime.Object) bool {
	return hasMarker(obj, n.ClusterMarker(physicalNamespace))
}

// ConvertLabelKeyWithPrefix returns the key that a label of a virtual object has on the host. The
// original key is not used on the host, because it may have a meaning there.
func (n Names) ConvertLabelKeyWithPrefix(prefix, key string) string {
	return SafeConcatName(prefix, n.Suffix, separator, digest(key))
}

// OwnerReferences returns the owner references of a host object in the given namespace. It returns
// nil if there is no Owner, or if the Owner is in another namespace, because an owner reference
// cannot refer to another namespace.
func (n Names) OwnerReferences(namespace string) []metav1.OwnerReference {
	if n.Owner == nil || n.Owner.GetNamespace() != "" && n.Owner.GetNamespace() != namespace {
		return nil
	}
	return ownerReference(n.Owner)
}

// hasMarker reports whether the MarkerLabel of an object has the given value.
func hasMarker(obj runtime.Object, value string) bool {
	if obj == nil || value == "" {
		return false
	}
	o, err := meta.Accessor(obj)
	return err == nil && o.GetLabels()[MarkerLabel] == value
}

// SafeConcatName joins the parts with "-". If the result would have more than 63 bytes, it is
// truncated and ends in a hash of the complete text. So the result is deterministic, and different
// texts have different results.
func SafeConcatName(name ...string) string { return concat(maxName, name) }

// SafeConcatGenerateName is SafeConcatName with a limit of 53 bytes. The limit leaves room for the
// suffix that an API server appends to a generateName.
func SafeConcatGenerateName(name ...string) string { return concat(maxGenerateName, name) }

// concat joins the parts and truncates the result to the limit.
func concat(limit int, parts []string) string {
	whole := strings.Join(parts, "-")
	if len(whole) <= limit {
		return whole
	}
	cut := whole[:limit-digestLength-1] + "-" + digest(whole)
	// A part of a name between dots must not begin or end with "-", which the truncation
	// can cause.
	return strings.ReplaceAll(cut, ".-", "-")
}

// digest returns the first hex digits of the SHA-256 hash of s.
func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])[:digestLength]
}
