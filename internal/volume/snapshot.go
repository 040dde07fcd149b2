package volume

import (
	"context"
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/reference"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// SnapshotKind is the managed kind of snapshots.
var SnapshotKind = resource.ManagedKind(GroupVersion.WithKind("Snapshot"))

// A Snapshot is a copy of a disk. Its kind uses all features that the runtime offers to kinds: policies, references,
// connection details, a provider configuration, late initialization and an observed generation.
type Snapshot struct {
	metav1.TypeMeta   `json:",inline"`
	metav1.ObjectMeta `json:"metadata,omitempty"`

	Spec   SnapshotSpec   `json:"spec"`
	Status SnapshotStatus `json:"status,omitempty"`
}

// A SnapshotSpec is the desired state.
type SnapshotSpec struct {
	SizeGiB int64  `json:"sizeGiB,omitempty"`
	Tier    string `json:"tier,omitempty"`

	Volume         string                        `json:"volume,omitempty"`
	VolumeRef      *commonv1.NamespacedReference `json:"volumeRef,omitempty"`
	VolumeSelector *commonv1.NamespacedSelector  `json:"volumeSelector,omitempty"`

	// WaitForVolume waits until the volume is ready before its name is used.
	WaitForVolume bool `json:"waitForVolume,omitempty"`

	DeletionPolicy             DeletionPolicy                    `json:"deletionPolicy,omitempty"`
	ManagementPolicies         commonv1.ManagementPolicies       `json:"managementPolicies"`
	WriteConnectionSecretToRef *commonv1.LocalSecretReference    `json:"writeConnectionSecretToRef,omitempty"`
	ProviderConfigRef          *commonv1.ProviderConfigReference `json:"providerConfigRef,omitempty"`
}

// A DeletionPolicy is a deletion policy as kinds of other runtimes have it, each with a type of its own.
type DeletionPolicy string

// A SnapshotStatus is the observed state.
type SnapshotStatus struct {
	commonv1.ConditionedStatus `json:",inline"`
	commonv1.ObservedStatus    `json:",inline"`
	commonv1.ConnectionStatus  `json:",inline"`

	ID string `json:"id,omitempty"`
}

// GetCondition returns the condition of a type.
func (s *Snapshot) GetCondition(t commonv1.ConditionType) commonv1.Condition {
	return s.Status.GetCondition(t)
}

// SetConditions sets conditions.
func (s *Snapshot) SetConditions(c ...commonv1.Condition) { s.Status.SetConditions(c...) }

// GetObservedGeneration returns the generation that the status describes.
func (s *Snapshot) GetObservedGeneration() int64 { return s.Status.GetObservedGeneration() }

// SetObservedGeneration sets the generation that the status describes.
func (s *Snapshot) SetObservedGeneration(g int64) { s.Status.SetObservedGeneration(g) }

// GetLastHandledReconcileAt returns the last handled value of the reconcile request annotation.
func (s *Snapshot) GetLastHandledReconcileAt() string { return s.Status.GetLastHandledReconcileAt() }

// SetLastHandledReconcileAt sets the last handled value of the reconcile request annotation.
func (s *Snapshot) SetLastHandledReconcileAt(token string) { s.Status.SetLastHandledReconcileAt(token) }

// GetConnectionDetailsHash returns the hash of the last published connection details.
func (s *Snapshot) GetConnectionDetailsHash() string { return s.Status.GetConnectionDetailsHash() }

// SetConnectionDetailsHash sets the hash of the last published connection details.
func (s *Snapshot) SetConnectionDetailsHash(hash string) { s.Status.SetConnectionDetailsHash(hash) }

// GetManagementPolicies returns the policies in the spec.
func (s *Snapshot) GetManagementPolicies() commonv1.ManagementPolicies {
	return s.Spec.ManagementPolicies
}

// GetDeletionPolicy returns the deletion policy in the spec, as kinds of other runtimes do.
func (s *Snapshot) GetDeletionPolicy() DeletionPolicy { return s.Spec.DeletionPolicy }

// GetWriteConnectionSecretToReference returns the reference to the Secret for connection details.
func (s *Snapshot) GetWriteConnectionSecretToReference() *commonv1.LocalSecretReference {
	return s.Spec.WriteConnectionSecretToRef
}

// GetProviderConfigReference returns the reference to the provider configuration.
func (s *Snapshot) GetProviderConfigReference() *commonv1.ProviderConfigReference {
	return s.Spec.ProviderConfigRef
}

// DeepCopyObject returns a copy.
func (s *Snapshot) DeepCopyObject() runtime.Object {
	out := *s
	out.ObjectMeta = *s.ObjectMeta.DeepCopy()
	s.Status.ConditionedStatus.DeepCopyInto(&out.Status.ConditionedStatus)
	out.Spec.ManagementPolicies = slices.Clone(s.Spec.ManagementPolicies)
	out.Spec.VolumeRef, out.Spec.VolumeSelector = s.Spec.VolumeRef.DeepCopy(), s.Spec.VolumeSelector.DeepCopy()
	out.Spec.WriteConnectionSecretToRef = s.Spec.WriteConnectionSecretToRef.DeepCopy()
	out.Spec.ProviderConfigRef = s.Spec.ProviderConfigRef.DeepCopy()

	return &out
}

func (s *Snapshot) want(d Disk) Disk {
	if s.Spec.SizeGiB != 0 {
		d.SizeGiB = s.Spec.SizeGiB
	}
	if d.Password == "" {
		d.Password = "password-of-" + d.ID
	}
	d.Source = s.Spec.Volume

	return d
}

func (s *Snapshot) show(d Disk) { s.Status.ID = d.ID }

// fill sets the fields that the user left to the cloud, and returns whether there were any.
func (s *Snapshot) fill(d Disk) bool {
	if s.Spec.Tier != "" || d.Tier == "" {
		return false
	}
	s.Spec.Tier = d.Tier

	return true
}

// A SnapshotList is a list of snapshots.
type SnapshotList struct {
	metav1.TypeMeta `json:",inline"`
	metav1.ListMeta `json:"metadata,omitempty"`

	Items []Snapshot `json:"items"`
}

// DeepCopyObject returns a copy.
func (l *SnapshotList) DeepCopyObject() runtime.Object {
	out := &SnapshotList{TypeMeta: l.TypeMeta, ListMeta: *l.ListMeta.DeepCopy()}
	for i := range l.Items {
		// a copy of a Snapshot is a Snapshot
		out.Items = append(out.Items, *l.Items[i].DeepCopyObject().(*Snapshot))
	}

	return out
}

// ResolveReferences resolves the reference to the volume of the snapshot.
func (s *Snapshot) ResolveReferences(ctx context.Context, r client.Reader) error {
	answer, err := reference.NewAPIResolver(r, s).Resolve(ctx, reference.ResolutionRequest{
		CurrentValue: s.Spec.Volume,
		Reference:    s.Spec.VolumeRef,
		Selector:     s.Spec.VolumeSelector,
		To:           reference.To{Managed: &Volume{}, List: &List{}},
		Extract:      reference.ExternalName(),
		WaitForReady: s.Spec.WaitForVolume,
	})
	if err != nil {
		return errors.Wrap(err, "spec.volume")
	}
	s.Spec.Volume, s.Spec.VolumeRef = answer.ResolvedValue, answer.ResolvedReference

	return nil
}
