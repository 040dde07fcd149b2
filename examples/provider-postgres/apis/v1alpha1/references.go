package v1alpha1

import (
	"context"

	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/reference"
)

// A referred is a field that a reference fills.
type referred struct {
	field string
	value **string
	ref   *commonv1.NamespacedReference
	to    client.Object
}

func role(field string, value **string, ref *commonv1.NamespacedReference) referred {
	return referred{field: field, value: value, ref: ref, to: &Role{}}
}

func database(field string, value **string, ref *commonv1.NamespacedReference) referred {
	return referred{field: field, value: value, ref: ref, to: &Database{}}
}

// resolve fills fields. A field is filled once: later changes of the referent change nothing.
func resolve(ctx context.Context, r client.Reader, from client.Object, all ...referred) error {
	resolver := reference.NewAPIResolver(r, from)
	for _, one := range all {
		rsp, err := resolver.Resolve(ctx, reference.ResolutionRequest{
			CurrentValue: reference.FromPtrValue(*one.value),
			Reference:    one.ref,
			To:           reference.To{Managed: one.to},
			Extract:      reference.ExternalName(),
			WaitForReady: true, // the name is known before the role or the database exists
		})
		if err != nil {
			return errors.Wrapf(err, "cannot resolve spec.forProvider.%sRef", one.field)
		}
		*one.value = reference.ToPtrValue(rsp.ResolvedValue)
	}

	return nil
}
