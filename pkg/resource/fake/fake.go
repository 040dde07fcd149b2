// Package fake has objects and a manager for tests that need a managed resource
// or a manager and care little which.
//
// A Managed is a complete managed resource in memory: its JSON has metadata and
// status as that of any other kind. Only what a test asks it to remember is in
// it; nothing here talks to an API server.
package fake

import (
	"reflect"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
)

// GV is the group and version that SchemeWith registers types under.
var GV = schema.GroupVersion{Group: "g", Version: "v"}

// GVK returns the kind that SchemeWith registers the type of o under: its Go
// name. It panics if o is no pointer.
func GVK(o runtime.Object) schema.GroupVersionKind {
	return GV.WithKind(reflect.TypeOf(o).Elem().Name())
}

// SchemeWith returns a scheme that knows the types of the supplied objects, and
// only those.
func SchemeWith(o ...runtime.Object) *runtime.Scheme {
	s := runtime.NewScheme()
	s.AddKnownTypes(GV, o...)

	return s
}

// A Conditioned holds conditions. The zero value is ready to use.
type Conditioned struct {
	Conditions []commonv1.Condition
}

// SetConditions puts the supplied conditions in the place of those of the same
// type, and appends the others.
func (c *Conditioned) SetConditions(cs ...commonv1.Condition) {
	s := commonv1.ConditionedStatus{Conditions: c.Conditions}
	s.SetConditions(cs...)
	c.Conditions = s.Conditions
}

// GetCondition returns the condition of the supplied type, or one whose status
// is Unknown.
func (c *Conditioned) GetCondition(ct commonv1.ConditionType) commonv1.Condition {
	s := commonv1.ConditionedStatus{Conditions: c.Conditions}

	return s.GetCondition(ct)
}

// An Object is a resource.Object that has metadata and otherwise is whatever
// object a test embeds, if any. The zero value is ready to use.
type Object struct {
	metav1.ObjectMeta `json:"metadata"`

	runtime.Object `json:"-"`
}

// GetObjectKind returns the kind of the embedded object, or one that is empty and
// stays so.
func (o *Object) GetObjectKind() schema.ObjectKind {
	if o.Object == nil {
		return schema.EmptyObjectKind
	}

	return o.Object.GetObjectKind()
}

// DeepCopyObject returns a copy that shares nothing with the object.
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

// GetObjectKind returns a kind that is empty and stays so: as for any typed
// object, the scheme knows the kind.
func (m *Managed) GetObjectKind() schema.ObjectKind {
	return schema.EmptyObjectKind
}

// DeepCopyObject returns a copy that shares nothing with the object.
func (m *Managed) DeepCopyObject() runtime.Object {
	return &Managed{
		ObjectMeta:        *m.ObjectMeta.DeepCopy(),
		ConditionedStatus: *m.ConditionedStatus.DeepCopy(),
	}
}
