// Package v1 has the kind of the example: a file on a device.
package v1

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// GroupVersion of the kind.
var GroupVersion = schema.GroupVersion{Group: "edge.moorage.dev", Version: "v1"}

// FileKind is the managed kind.
var FileKind = resource.ManagedKind(GroupVersion.WithKind("File"))

// A File is a file on the device. Its name is the external name, by default the name of the object.
type File struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   FileSpec   `json:"spec"`
	Status FileStatus `json:"status,omitempty"`
}

// A FileSpec is the desired state of a file.
type FileSpec struct {
	// Content of the file.
	Content string `json:"content"`

	// Executable sets the executable bits. The default is false.
	Executable bool `json:"executable,omitempty"`
}

// A FileStatus is the observed state of a file.
type FileStatus struct {
	commonv1.ConditionedStatus `json:",inline"`

	// Size in bytes.
	Size int64 `json:"size,omitempty"`

	// Digest is the SHA-256 of the content, in hex.
	Digest string `json:"digest,omitempty"`
}

// GetCondition returns the condition of a type.
func (f *File) GetCondition(t commonv1.ConditionType) commonv1.Condition {
	return f.Status.GetCondition(t)
}

// SetConditions sets conditions.
func (f *File) SetConditions(c ...commonv1.Condition) { f.Status.SetConditions(c...) }

// DeepCopyObject returns a copy.
func (f *File) DeepCopyObject() runtime.Object {
	out := *f
	out.ObjectMeta = *f.ObjectMeta.DeepCopy()
	f.Status.ConditionedStatus.DeepCopyInto(&out.Status.ConditionedStatus)

	return &out
}

// A FileList is a list of files.
type FileList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []File `json:"items"`
}

// DeepCopyObject returns a copy.
func (l *FileList) DeepCopyObject() runtime.Object {
	out := &FileList{TypeMeta: l.TypeMeta, ListMeta: *l.ListMeta.DeepCopy()}
	for i := range l.Items {
		if f, ok := l.Items[i].DeepCopyObject().(*File); ok {
			out.Items = append(out.Items, *f)
		}
	}

	return out
}

// Scheme returns a scheme with the kind, and nothing else.
func Scheme() *runtime.Scheme {
	s := runtime.NewScheme()
	s.AddKnownTypes(GroupVersion, &File{}, &FileList{})
	metav1.AddToGroupVersion(s, GroupVersion)

	return s
}
