// Package resource defines managed resources, each of which represents one resource in an external system. It also
// helps controllers with finalizers, with referenced Secrets and ConfigMaps, and with the classification of errors.
//
// A kind is a Managed if it is a Kubernetes object with conditions. To implement it, embed ConditionedStatus of
// apis/common/v1 in the status, and add two methods that forward to it.
package resource

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
)

// An Object is a Kubernetes object with metadata.
type Object interface {
	metav1.Object
	runtime.Object
}

// A Conditioned has conditions. commonv1.ConditionedStatus documents how they are
// set and read.
type Conditioned interface {
	SetConditions(c ...commonv1.Condition)
	GetCondition(ct commonv1.ConditionType) commonv1.Condition
}

// A Managed is a Kubernetes object that represents one external resource.
type Managed interface {
	Object
	Conditioned
}

// A ManagedList is a list of managed resources.
type ManagedList interface {
	client.ObjectList

	// GetItems returns the items of the list.
	GetItems() []Managed
}

// A ManagedKind is the kind of a managed resource. It is a separate type, so that other kinds cannot be passed by
// mistake.
type ManagedKind schema.GroupVersionKind

// MustCreateObject returns a new object of the given kind. The argument oc is usually a scheme. MustCreateObject
// panics if oc does not know the kind, because that is a programming error that appears at the start.
func MustCreateObject(kind schema.GroupVersionKind, oc runtime.ObjectCreater) runtime.Object {
	obj, err := oc.New(kind)
	if err != nil {
		panic(err)
	}

	return obj
}
