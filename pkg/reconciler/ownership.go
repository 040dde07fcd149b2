package reconciler

import (
	"context"

	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// An Owner says to whom an external resource belongs.
type Owner = managed.Owner

// To whom an external resource belongs; managed says when each is meant.
const (
	OwnerUnknown = managed.OwnerUnknown
	OwnerOurs    = managed.OwnerOurs
	OwnerNobody  = managed.OwnerNobody
	OwnerOther   = managed.OwnerOther
)

// A Stamp names the one object that owns an external resource.
type Stamp = managed.Stamp

// NewStamp is [managed.NewStamp].
func NewStamp(cluster types.UID, of schema.GroupKind, mg resource.Managed) Stamp {
	return managed.NewStamp(cluster, of, mg)
}

// ClusterUID is [managed.ClusterUID].
func ClusterUID(ctx context.Context, r client.Reader) (types.UID, error) {
	return managed.ClusterUID(ctx, r)
}
