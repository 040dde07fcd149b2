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
	"github.com/moorage-dev/moorage/pkg/resource"
)

// inherit finds out whether the object is marked with an attempt of another one that it has to
// answer for: it was restored from a backup. If the other one lives in this cluster, the marks
// are those of a mere copy of its manifest, and say nothing. What became of an attempt that was
// under way during the backup nobody has recorded. What one made that succeeded is looked for
// first, and then missing or not.
func (p *creationRecord) inherit(ctx context.Context) error {
	id, result := attemptOf(p.mg)
	missing := result == attemptSucceeded && meta.GetExternalName(p.mg) != "" && p.observed &&
		!p.observation.ResourceExists
	if p.inherited = ""; p.r.named || !copied(p.mg, id) || !missing && (result != "" || !lost(p.mg)) {
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

// inherits says whether the result of an attempt is not known that was made for the object
// which this one was restored from. Its token is that of another UID, of which the mark has a
// hash alone, so that nobody can look by it, or repeat the attempt.
func (p *creationRecord) inherits() bool { return p.inherited != "" && p.unresolved() }

// originalLives says whether this cluster has the object for which an attempt was made. What
// the cache says counts if the API server itself says so, too.
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
			if mark := ownMark(mg); string(mark[:]) == of {
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
