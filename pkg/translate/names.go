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
	// maxName is what a label value, a label name and most object names may have.
	maxName = 63
	// maxGenerateName leaves room for what the API server appends.
	maxGenerateName = 53
	// hashed is how many hex digits of a hash stand for what was cut off.
	hashed = 10

	separator = "x"

	defaultPrefix = "vcluster"
)

// LabelPrefix begins the keys of translated labels.
const LabelPrefix = "vcluster.loft.sh/label"

// Names are the names and marks that the objects of one virtual cluster have on
// its host. They are a value: two of them do not disturb each other, so that one
// process can serve many virtual clusters. The methods may be called concurrently
// as long as the fields stay as they are.
type Names struct {
	// Suffix tells this virtual cluster from others on the same host, in names
	// and in the value of MarkerLabel. It is required.
	Suffix string

	// Owner becomes the owner of host objects in its own namespace, so that they
	// go with it. Nil is none.
	Owner client.Object

	// Prefix begins the names of cluster-scoped host objects. Default: "vcluster".
	Prefix string

	// Cluster is the UID of the virtual cluster's kube-system namespace. It is
	// written to host objects, so that another cluster that answers under the same
	// address is not taken for this one. Default: "", which writes none.
	Cluster string
}

// PhysicalName returns the host name of a namespaced object, and "" for an empty
// name. Different objects can have the same host name: ("a-x-b", "c") and ("a",
// "b-x-c") do. Whoever writes under it compares the annotations of what is there.
func (n Names) PhysicalName(name, namespace string) string {
	if name == "" {
		return ""
	}
	return SafeConcatName(name, separator, namespace, separator, n.Suffix)
}

// PhysicalNameClusterScoped returns the host name of a cluster-scoped object, and
// "" for an empty name. The namespace is that of the virtual cluster on the host.
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

// ClusterMarker returns the value of MarkerLabel on cluster-scoped host objects:
// they need the namespace as well, because suffixes may repeat on one host.
func (n Names) ClusterMarker(physicalNamespace string) string {
	return SafeConcatName(physicalNamespace, separator, n.Suffix)
}

// IsManaged tells whether an object bears the mark of this virtual cluster. What
// is no object bears none.
func (n Names) IsManaged(obj runtime.Object) bool { return marked(obj, n.Suffix) }

// IsManagedCluster tells whether a cluster-scoped object does.
func (n Names) IsManagedCluster(physicalNamespace string, obj runtime.Object) bool {
	return marked(obj, n.ClusterMarker(physicalNamespace))
}

// ConvertLabelKeyWithPrefix returns the key under which a label is stored on the
// host, where the original one may have a meaning.
func (n Names) ConvertLabelKeyWithPrefix(prefix, key string) string {
	return SafeConcatName(prefix, n.Suffix, separator, digest(key))
}

// OwnerReferences returns the reference that makes Owner the owner of a host
// object in a namespace, or nil if there is no owner or it is elsewhere: an owner
// reference must not cross namespaces.
func (n Names) OwnerReferences(namespace string) []metav1.OwnerReference {
	if n.Owner == nil || n.Owner.GetNamespace() != "" && n.Owner.GetNamespace() != namespace {
		return nil
	}
	return ownerReference(n.Owner)
}

func marked(obj runtime.Object, value string) bool {
	if obj == nil || value == "" {
		return false
	}
	o, err := meta.Accessor(obj)
	return err == nil && o.GetLabels()[MarkerLabel] == value
}

// SafeConcatName joins the parts with "-". A result of more than 63 bytes is cut
// and ends in a hash of the whole, so that it stays the same from call to call and
// differs where the whole does.
func SafeConcatName(name ...string) string { return concat(maxName, name) }

// SafeConcatGenerateName does the same within 53 bytes, which leaves room for what
// the API server appends to a generateName.
func SafeConcatGenerateName(name ...string) string { return concat(maxGenerateName, name) }

func concat(limit int, parts []string) string {
	whole := strings.Join(parts, "-")
	if len(whole) <= limit {
		return whole
	}
	cut := whole[:limit-hashed-1] + "-" + digest(whole)
	// A name must not have an element that ends in "-" before a dot, nor begin one
	// after it; the cut can make such a place.
	return strings.ReplaceAll(cut, ".-", "-")
}

func digest(s string) string {
	sum := sha256.Sum256([]byte(s))
	return hex.EncodeToString(sum[:])[:hashed]
}
