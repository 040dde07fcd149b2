// Package reference resolves a reference or a selector in the spec of a managed
// resource to a value: the external name of another object, or one of its fields.
// It also tracks which objects wait for which referents, so that an object is
// reconciled when its referent changes, and not at the next poll.
//
// Start with a method ResolveReferences of the kind. It gets a client.Reader, makes
// an APIResolver of it, and assigns the response of Resolve:
//
//	func (s *Consumer) ResolveReferences(ctx context.Context, r client.Reader) error {
//		rsp, err := reference.NewAPIResolver(r, s).Resolve(ctx, reference.ResolutionRequest{
//			CurrentValue: s.Spec.Stream,
//			Reference:    s.Spec.StreamRef,
//			Selector:     s.Spec.StreamSelector,
//			To:           reference.To{Managed: &Stream{}, List: &StreamList{}},
//			Extract:      reference.ExternalName(),
//		})
//		if err != nil {
//			return errors.Wrap(err, "cannot resolve spec.stream")
//		}
//		s.Spec.Stream, s.Spec.StreamRef = rsp.ResolvedValue, rsp.ResolvedReference
//		return nil
//	}
//
// There are three kinds of errors. IsWaiting: the object is reconciled again when the
// referent changes. IsRefused: a user has to change the object or its referent. All
// others are failed reads.
//
// # Namespaces
//
// A referent is in the namespace of the referring object, unless it grants more
// by the annotation meta.AnnotationKeyAllowReferencesFrom. Without a grant the error
// is the same as if the referent did not exist. A cluster-scoped referent
// needs no grant. A cluster-scoped object has to name the namespace of its
// referent, which has to grant it to "*".
//
// # Watching
//
// A reconciler keeps one Tracker per controller. It passes Tracker.Reader to
// ResolveReferences, calls Recorder.Done afterwards, and gives Tracker.Source to its
// controller.
package reference
