package managed

import (
	"context"
	"strings"

	apimeta "k8s.io/apimachinery/pkg/api/meta"
	"k8s.io/apimachinery/pkg/runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/internal/gone"
	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/attempt"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// inherit determines whether the object was restored from a backup and continues an attempt of the original object.
// If the original exists in this cluster, the annotations come from a copy of its manifest and are ignored. The
// result of an attempt that was pending at the time of the backup is unknown. The resource of a successful attempt is
// observed first.
func (p *creationRecord) inherit(ctx context.Context) error {
	id, result := attempt.Of(p.mg)
	missing := result == attempt.Succeeded && meta.GetExternalName(p.mg) != "" && p.observed &&
		!p.observation.ResourceExists
	if p.inherited = ""; p.r.named || !attempt.Copied(p.mg, id) ||
		!missing && (result != "" || !attempt.Unresolved(p.mg)) {
		return nil
	}
	if lives, err := p.originalLives(ctx, id); lives || err != nil {
		return observing.failed(errors.Wrap(err,
			"cannot look for the object that the marks of a creation were copied from"))
	}
	if p.inherited = id; !missing && p.state.Called == (objectstate.Intent{}) {
		p.state.Called = p.intended()
	}

	return nil
}

// originalLives reports whether this cluster has the object for which an attempt was made. A result from the cache
// counts only if the API server confirms it.
func (p *creationRecord) originalLives(ctx context.Context, id string) (bool, error) {
	_, of, _ := strings.Cut(id, "-")
	all, err := p.r.newList()
	if err != nil {
		return false, err
	}
	if err := p.r.client.List(ctx, all, client.UnsafeDisableDeepCopy); err != nil {
		return false, err
	}
	var original resource.Managed
	err = apimeta.EachListItem(all, func(o runtime.Object) error {
		if mg, ok := o.(resource.Managed); ok {
			if mark := attempt.UIDHash(mg); string(mark[:]) == of {
				original = mg
			}
		}

		return nil
	})
	if err != nil || original == nil {
		return false, err
	}
	live := p.r.newManaged()
	err = p.r.cluster.GetAPIReader().Get(ctx, client.ObjectKeyFromObject(original), live)
	if gone.Answered(err, original.GetName()) {
		return false, nil
	}

	return err == nil && live.GetUID() == original.GetUID(), err
}

// inherits reports whether the object was restored from an object with an attempt whose result is unknown. The token
// of that attempt can be neither looked up nor repeated: it contains another UID, and the annotation has only a hash
// of that UID.
func (p *creationRecord) inherits() bool { return p.inherited != "" && p.unresolved() }
