// Package reference resolves a reference or a selector in the spec of a managed resource to a value. The value is the
// external name of another object, which is called the referent, or one of its fields. The package also tracks which
// objects wait for which referents. An object is reconciled when its referent changes, and not only at the next poll.
//
// Start with a method ResolveReferences of the kind. It gets a client.Reader, makes an APIResolver of it, and assigns
// the response of Resolve:
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
// There are three kinds of errors. If IsWaiting returns true, the object is reconciled again when the referent changes.
// If IsRefused returns true, a user has to change the object or its referent. All other errors are failed reads.
//
// # Namespaces
//
// A referent must be in the namespace of the referring object, unless its annotation
// meta.AnnotationKeyAllowReferencesFrom allows references from other namespaces. Without this annotation the error is
// the same as if the referent did not exist. A cluster-scoped referent does not need the annotation. A cluster-scoped
// object has to name the namespace of its referent, and the annotation of the referent has to contain "*".
//
// # Watching
//
// A reconciler creates one Tracker per controller. It passes Tracker.Reader to ResolveReferences, calls Recorder.Done
// afterwards, and adds Tracker.Source to its controller.
package reference
