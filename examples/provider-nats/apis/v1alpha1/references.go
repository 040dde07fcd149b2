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

// ResolveReferences writes the name of the stream into the spec, as soon as the Stream of streamRef or
// streamSelector exists. The objects that it reads with r are watched: the Stream of the reference; and,
// while a named stream does not exist yet, the Streams of the namespace, one of which may be about to
// create it.
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

// watch reads the objects that shall wake the consumer, besides those that resolved it. A Stream that is
// referred to must use the same NATS as the consumer.
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

// together refuses a Stream with another configuration: its name means nothing in another NATS, where
// another stream may have it. Configurations of two namespaces can be about one NATS, so they are only
// distinguished by kind and name.
func (c *Consumer) together(s *Stream) error {
	ours, its := c.GetProviderConfigReference(), s.GetProviderConfigReference()
	if *ours == *its {
		return nil
	}

	return external.Terminal(string(commonv1.ReasonReferenceRefused), errors.Errorf(
		"the Stream %s uses the %s %q, and this consumer the %s %q: name the same in spec.providerConfigRef of both",
		client.ObjectKeyFromObject(s), its.Kind, its.Name, ours.Kind, ours.Name))
}

// streamName returns the name of the stream in NATS, once it exists.
func streamName(s *Stream) string {
	if s.Status.AtProvider.Created == "" && s.GetCondition(commonv1.TypeReady).Status != metav1.ConditionTrue {
		return ""
	}

	return meta.GetExternalName(s)
}
