// Command quickstart is the service provider of docs/service-providers.md.
package main

import (
	"slices"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/apimachinery/pkg/runtime/schema"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
)

var group = schema.GroupVersion{Group: "backup.example.org", Version: "v1"}

func addToScheme(s *runtime.Scheme) error {
	s.AddKnownTypes(group, &Backup{}, &BackupList{}, &BackupConfig{}, &BackupConfigList{})
	metav1.AddToGroupVersion(s, group)

	return nil
}

// A Backup is the user's object on the onboarding cluster.
type Backup struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   BackupSpec   `json:"spec,omitempty"`
	Status BackupStatus `json:"status,omitempty"`
}

// A BackupSpec defines when to back up.
type BackupSpec struct {
	Schedule string `json:"schedule,omitempty"`
}

// A BackupStatus is the observed state of the service.
type BackupStatus struct {
	commonv1.ServiceStatus `json:",inline"`
}

// Finalizer keeps an object until its service is gone.
func (*Backup) Finalizer() string { return "backup.example.org/service" }

// GetStatus returns the status.
func (b *Backup) GetStatus() any { return b.Status }

// GetConditions returns the conditions.
func (b *Backup) GetConditions() *[]metav1.Condition { return &b.Status.Conditions }

// SetPhase sets the phase.
func (b *Backup) SetPhase(p string) { b.Status.Phase = p }

// SetObservedGeneration sets the generation that the status is about.
func (b *Backup) SetObservedGeneration(g int64) { b.Status.ObservedGeneration = g }

// DeepCopyObject returns a copy; controller-gen makes such methods.
func (b *Backup) DeepCopyObject() runtime.Object {
	out := *b
	out.ObjectMeta = *b.ObjectMeta.DeepCopy()
	out.Status.Conditions = slices.Clone(b.Status.Conditions)

	return &out
}

// A BackupList is a list of backups.
type BackupList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Backup `json:"items"`
}

// DeepCopyObject returns a copy.
func (l *BackupList) DeepCopyObject() runtime.Object {
	out := &BackupList{TypeMeta: l.TypeMeta, ListMeta: *l.ListMeta.DeepCopy()}
	for i := range l.Items {
		if b, ok := l.Items[i].DeepCopyObject().(*Backup); ok {
			out.Items = append(out.Items, *b)
		}
	}

	return out
}

// A BackupConfig is the configuration of the service, on the platform.
type BackupConfig struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Poll metav1.Duration `json:"poll,omitempty"`
}

// PollInterval returns the interval between two passes over an object.
func (c *BackupConfig) PollInterval() time.Duration { return c.Poll.Duration }

// DeepCopyObject returns a copy.
func (c *BackupConfig) DeepCopyObject() runtime.Object {
	out := *c
	out.ObjectMeta = *c.ObjectMeta.DeepCopy()

	return &out
}

// A BackupConfigList is a list of configurations.
type BackupConfigList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []BackupConfig `json:"items"`
}

// DeepCopyObject returns a copy.
func (l *BackupConfigList) DeepCopyObject() runtime.Object {
	out := &BackupConfigList{TypeMeta: l.TypeMeta, ListMeta: *l.ListMeta.DeepCopy()}
	for i := range l.Items {
		if c, ok := l.Items[i].DeepCopyObject().(*BackupConfig); ok {
			out.Items = append(out.Items, *c)
		}
	}

	return out
}
