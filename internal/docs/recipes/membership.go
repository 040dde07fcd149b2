package recipes

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/docs/recipes/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed"
)

// A MemberAPI has members of groups, which bear no stamp. Adding a member twice is no error.
type MemberAPI interface {
	IsMember(ctx context.Context, group, user string) (bool, error)
	Add(ctx context.Context, group, user string) error
	Remove(ctx context.Context, group, user string) error
}

// A MemberClient is the client for memberships.
type MemberClient struct {
	API     MemberAPI
	Objects client.Reader // with a cache: m.GetClient()
}

// owner returns OwnerOther if an older object asks for the same pair.
func (c *MemberClient) owner(ctx context.Context, m *v1alpha1.Membership) (managed.Owner, error) {
	var all v1alpha1.MembershipList
	if err := c.Objects.List(ctx, &all); err != nil {
		return managed.OwnerUnknown, errors.Wrap(err, "cannot list the objects that may ask for the same")
	}
	for _, o := range all.Items {
		older := o.CreationTimestamp.Before(&m.CreationTimestamp) ||
			o.CreationTimestamp.Equal(&m.CreationTimestamp) && o.UID < m.UID
		if o.UID != m.UID && o.Spec == m.Spec && older {
			return managed.OwnerOther, nil
		}
	}

	return managed.OwnerUnknown, nil // whatever exists for the pair is ours
}

// Observe reports whether the user is a member.
func (c *MemberClient) Observe(ctx context.Context, m *v1alpha1.Membership) (managed.ExternalObservation, error) {
	is, err := c.API.IsMember(ctx, m.Spec.Group, m.Spec.User)
	if err != nil || !is {
		return managed.ExternalObservation{}, err
	}
	owner, err := c.owner(ctx, m)
	if err != nil {
		return managed.ExternalObservation{}, err
	}
	if owner != managed.OwnerOther {
		m.SetConditions(commonv1.Available())
	}

	return managed.ExternalObservation{ResourceExists: true, ResourceUpToDate: true, Owner: owner}, nil
}

// Create adds the member.
func (c *MemberClient) Create(ctx context.Context, m *v1alpha1.Membership) error {
	return c.API.Add(ctx, m.Spec.Group, m.Spec.User)
}

// Update changes nothing: a membership has no fields that could change.
func (c *MemberClient) Update(context.Context, *v1alpha1.Membership) error { return nil }

// Delete removes the member.
func (c *MemberClient) Delete(ctx context.Context, m *v1alpha1.Membership) error {
	return c.API.Remove(ctx, m.Spec.Group, m.Spec.User)
}
