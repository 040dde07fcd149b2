package v1alpha1

import (
	"context"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reference"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// ResolveReferences puts the name of the stream into the spec, once the Stream that
// streamRef or streamSelector means is there. What it reads with r is watched: the
// Stream that is referred to; and, while a stream that is named is not there yet,
// the Streams of the namespace, one of which may be about to make it.
func (c *Consumer) ResolveReferences(ctx context.Context, r client.Reader) error {
	p := &c.Spec.ForProvider

	rsp, err := reference.NewAPIResolver(r, c).Resolve(ctx, reference.ResolutionRequest{
		CurrentValue: reference.FromPtrValue(p.Stream),
		Reference:    p.StreamRef,
		Selector:     p.StreamSelector,
		To:           reference.To{Managed: &Stream{}, List: &StreamList{}},
		Extract:      reference.Typed(streamName),
	})
	if err != nil {
		return errors.Wrap(err, "cannot find the stream that spec.forProvider means")
	}

	if err := c.watch(ctx, r, rsp.ResolvedReference); err != nil {
		return errors.Wrap(err, "cannot use the stream that spec.forProvider means")
	}

	p.Stream, p.StreamRef = reference.ToPtrValue(rsp.ResolvedValue), rsp.ResolvedReference

	return nil
}

// watch reads what the consumer is to be woken for, besides what resolved it. A
// Stream that is referred to must be where the consumer is to be.
func (c *Consumer) watch(ctx context.Context, r client.Reader, ref *commonv1.NamespacedReference) error {
	switch {
	case ref != nil:
		key := client.ObjectKey{Namespace: ref.Namespace, Name: ref.Name}
		if key.Namespace == "" {
			key.Namespace = c.GetNamespace()
		}

		stream := &Stream{}
		if err := r.Get(ctx, key, stream); err != nil {
			return resource.IgnoreNotFound(err)
		}

		return c.together(stream)
	case c.Status.AtProvider.Created == "":
		return r.List(ctx, &StreamList{}, client.InNamespace(c.GetNamespace()))
	default:
		return nil
	}
}

// together refuses a Stream that is reached by another configuration: its name says
// nothing in another NATS, where another stream may have it. Configurations of two
// namespaces can be about one NATS, so they are only told apart by kind and name.
func (c *Consumer) together(s *Stream) error {
	ours, its := c.GetProviderConfigReference(), s.GetProviderConfigReference()
	if *ours == *its {
		return nil
	}

	return external.Terminal(string(commonv1.ReasonReferenceRefused), errors.Errorf(
		"the Stream %s is reached by the %s %q, and this consumer by the %s %q: name the same in spec.providerConfigRef of both",
		client.ObjectKeyFromObject(s), its.Kind, its.Name, ours.Kind, ours.Name))
}

// streamName returns the name of the stream in NATS, once it is there.
func streamName(s *Stream) string {
	if s.Status.AtProvider.Created == "" && s.GetCondition(commonv1.TypeReady).Status != metav1.ConditionTrue {
		return ""
	}

	return meta.GetExternalName(s)
}
