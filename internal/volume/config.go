package volume

import (
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
)

// A ProviderConfig is the configuration of the connection to the cloud.
type ProviderConfig struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Status commonv1.ProviderConfigStatus `json:"status,omitempty"`
}

// GetUsers returns how many objects use the configuration.
func (c *ProviderConfig) GetUsers() int64 { return c.Status.GetUsers() }

// SetUsers sets how many objects use the configuration.
func (c *ProviderConfig) SetUsers(n int64) { c.Status.SetUsers(n) }

// DeepCopyObject returns a copy.
func (c *ProviderConfig) DeepCopyObject() runtime.Object {
	out := *c
	out.ObjectMeta = *c.ObjectMeta.DeepCopy()
	c.Status.DeepCopyInto(&out.Status)

	return &out
}

// A ProviderConfigList is a list of configurations.
type ProviderConfigList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []ProviderConfig `json:"items"`
}

// DeepCopyObject returns a copy.
func (l *ProviderConfigList) DeepCopyObject() runtime.Object {
	out := &ProviderConfigList{TypeMeta: l.TypeMeta, ListMeta: *l.ListMeta.DeepCopy()}
	for i := range l.Items {
		// a copy of a ProviderConfig is a ProviderConfig
		out.Items = append(out.Items, *l.Items[i].DeepCopyObject().(*ProviderConfig))
	}

	return out
}
