// Package reference turns a reference or a selector in the spec of a managed
// resource into the value that is meant: the external name of another object,
// or one of its fields. It also knows who waits for whom, so that an object goes
// on when its referent changes, and not at the next poll.
//
// An author writes ResolveReferences on his kind. He is given a client.Reader,
// makes an APIResolver of it, and assigns what Resolve answers:
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
// Three sorts of errors come back. IsWaiting: the referent will change, and the
// object goes on by itself. IsRefused: somebody has to change something. All
// others are failures to read.
//
// # Namespaces
//
// A referent is in the namespace of the referring object, unless it grants more
// by the annotation meta.AnnotationKeyAllowReferencesFrom. Whoever is not granted
// a referent is told the same as if it did not exist. A cluster-scoped referent
// needs no grant. A cluster-scoped object has to name the namespace of its
// referent, which has to grant it to "*".
//
// # Watching
//
// A reconciler keeps one Tracker per controller. It hands Tracker.Reader to
// ResolveReferences, tells Recorder.Done when that is over, and gives
// Tracker.Source to its controller.
package reference
