// Package fake has managed resources and a manager for tests.
//
// A Managed is a complete managed resource in memory. Its JSON has metadata and status, like the JSON of any other
// kind. The package never connects to an API server.
package fake

import (
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
)

// GV is the group and version under which SchemeWith registers types.
var GV = schema.GroupVersion{Group: "g", Version: "v"}

// GVK returns the kind under which SchemeWith registers the type of o. The kind is the Go name of the type. GVK
// panics if o is not a pointer.
func GVK(o runtime.Object) schema.GroupVersionKind {
	return GV.WithKind(reflect.TypeOf(o).Elem().Name())
}

// SchemeWith returns a scheme in which only the types of the given objects are registered.
func SchemeWith(o ...runtime.Object) *runtime.Scheme {
	s := runtime.NewScheme()
	s.AddKnownTypes(GV, o...)

	return s
}

// A Conditioned holds conditions. The zero value is ready to use.
type Conditioned struct {
	Conditions []commonv1.Condition
}

// SetConditions sets each of the given conditions. A condition replaces the condition of the same type. If there is
// none, it is appended.
func (c *Conditioned) SetConditions(cs ...commonv1.Condition) {
	s := commonv1.ConditionedStatus{Conditions: c.Conditions}
	s.SetConditions(cs...)
	c.Conditions = s.Conditions
}

// GetCondition returns the condition of the given type. If there is none, it returns a condition with the status
// Unknown.
func (c *Conditioned) GetCondition(ct commonv1.ConditionType) commonv1.Condition {
	s := commonv1.ConditionedStatus{Conditions: c.Conditions}

	return s.GetCondition(ct)
}

// An Object is a resource.Object with metadata. It may embed any other object. The zero value is ready to use.
type Object struct {
	metav1.ObjectMeta `json:"metadata"`

	runtime.Object `json:"-"`
}

// GetObjectKind returns the kind of the embedded object. Without an embedded object it returns an empty kind that
// cannot be set.
func (o *Object) GetObjectKind() schema.ObjectKind {
	if o.Object == nil {
		return schema.EmptyObjectKind
	}

	return o.Object.GetObjectKind()
}

// DeepCopyObject returns a copy that shares no memory with the object.
func (o *Object) DeepCopyObject() runtime.Object {
	out := &Object{ObjectMeta: *o.DeepCopy()}
	if o.Object != nil {
		out.Object = o.Object.DeepCopyObject()
	}

	return out
}

// A Managed is a resource.Managed. The zero value is ready to use.
type Managed struct {
	metav1.ObjectMeta          `json:"metadata"`
	commonv1.ConditionedStatus `json:"status"`
}

// GetObjectKind returns an empty kind that cannot be set. The scheme knows the kind, as for any typed object.
func (m *Managed) GetObjectKind() schema.ObjectKind {
	return schema.EmptyObjectKind
}

// DeepCopyObject returns a copy that shares no memory with the object.
func (m *Managed) DeepCopyObject() runtime.Object {
	return &Managed{
		ObjectMeta:        *m.ObjectMeta.DeepCopy(),
		ConditionedStatus: *m.ConditionedStatus.DeepCopy(),
	}
}
