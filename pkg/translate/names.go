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

// Names translates the names of one virtual cluster to names and ownership marks on its
// host. It is a value, so one process can serve many virtual clusters. The methods are
// safe for concurrent use as long as the fields do not change.
type Names struct {
	// Suffix distinguishes this virtual cluster from others on the same host, in names
	// and in the value of MarkerLabel. It is required.
	Suffix string

	// Owner is the owner of host objects in its namespace, so that they are garbage
	// collected with it. Default: nil, no owner.
	Owner client.Object

	// Prefix is the prefix of names of cluster-scoped host objects. Default: "vcluster".
	Prefix string

	// Cluster is the UID of the virtual cluster's kube-system namespace. It is written
	// to host objects to detect another cluster at the same address. Default: "", which
	// writes no UID.
	Cluster string
}

// PhysicalName returns the host name of a namespaced object, or "" for an empty name.
// Different objects can have the same host name, such as ("a-x-b", "c") and ("a",
// "b-x-c"), so a writer must compare the annotations of an existing host object.
func (n Names) PhysicalName(name, namespace string) string {
	if name == "" {
		return ""
	}
	return SafeConcatName(name, separator, namespace, separator, n.Suffix)
}

// PhysicalNameClusterScoped returns the host name of a cluster-scoped object, or "" for
// an empty name. physicalNamespace is the host namespace of the virtual cluster.
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

// ClusterMarker returns the value of MarkerLabel of cluster-scoped host objects. It
// contains the namespace, because suffixes are unique only within a host namespace.
func (n Names) ClusterMarker(physicalNamespace string) string {
	return SafeConcatName(physicalNamespace, separator, n.Suffix)
}

// IsManaged reports whether an object has the MarkerLabel of this virtual cluster. It
// returns false for an object without metadata.
func (n Names) IsManaged(obj runtime.Object) bool { return hasMarker(obj, n.Suffix) }

// IsManagedCluster reports whether a cluster-scoped object has the MarkerLabel of this
// virtual cluster.
func (n Names) IsManagedCluster(physicalNamespace string, obj runtime.Object) bool {
	return hasMarker(obj, n.ClusterMarker(physicalNamespace))
}

// ConvertLabelKeyWithPrefix returns the key of a virtual object's label on the host,
// where the original key may have a meaning.
func (n Names) ConvertLabelKeyWithPrefix(prefix, key string) string {
	return SafeConcatName(prefix, n.Suffix, separator, digest(key))
}

// OwnerReferences returns the owner references of a host object, or nil if there is no
// Owner or it is in another namespace, which an owner reference must not cross.
func (n Names) OwnerReferences(namespace string) []metav1.OwnerReference {
	if n.Owner == nil || n.Owner.GetNamespace() != "" && n.Owner.GetNamespace() != namespace {
		return nil
	}
	return ownerReference(n.Owner)
}

// hasMarker reports whether an object has that value of MarkerLabel.
func hasMarker(obj runtime.Object, value string) bool {
	if obj == nil || value == "" {
		return false
	}
	o, err := meta.Accessor(obj)
	return err == nil && o.GetLabels()[MarkerLabel] == value
}

// SafeConcatName joins the parts with "-". A result of more than 63 bytes is truncated
// and ends in a hash of the whole, so it is deterministic and differs if the whole
// differs.
func SafeConcatName(name ...string) string { return concat(maxName, name) }

// SafeConcatGenerateName is SafeConcatName with a limit of 53 bytes, which leaves room
// for the suffix that an API server appends to a generateName.
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

// digest returns the first hex digits of a SHA-256 hash.
func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])[:digestLength]
}
