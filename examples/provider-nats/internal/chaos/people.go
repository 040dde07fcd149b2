package chaos

import (
	"context"
	"math/rand/v2"
	"sync"
	"sync/atomic"
	"time"

	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"sigs.k8s.io/controller-runtime/pkg/client"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// hands is how many people work at a time.
const hands = 6

// How long somebody waits between two things that he does, and for an answer.
const (
	shortestBreak, longestBreak = 40 * time.Millisecond, 120 * time.Millisecond

	patience = 5 * time.Second
)

// people create, change and delete objects. What they believe is there may be
// wrong, as it is with people; what is true is asked of the API server.
type people struct {
	kube  client.Client
	slots []slot
	hands []*rand.Rand

	full     []bool // by slot, as its one user believes
	bare     []bool // was replaced, and not claimed again as far as was seen
	revision []int

	done     atomic.Int64 // what was answered
	replaced atomic.Int64 // what was replaced by its manifest
}

func newPeople(kube client.Client, seed uint64, slots []slot) *people {
	p := &people{kube: kube, slots: slots, full: make([]bool, len(slots)), bare: make([]bool, len(slots)), revision: make([]int, len(slots))}
	for i := range hands {
		p.hands = append(p.hands, rand.New(rand.NewPCG(seed, 1000+uint64(i))))
	}

	return p
}

// work lets everybody work until ctx ends. Each slot has one user.
func (p *people) work(ctx context.Context) {
	var all sync.WaitGroup
	defer all.Wait()

	for hand, r := range p.hands {
		all.Go(func() {
			for pause(ctx, shortestBreak+time.Duration(r.Int64N(int64(longestBreak-shortestBreak)))) == nil {
				if i := r.IntN(len(p.slots)); i%hands == hand || len(p.slots) < hands {
					p.act(ctx, i, r)
				} else {
					p.act(ctx, i-i%hands+hand, r)
				}
			}
		})
	}
}

// act does something with a slot. An answer that does not come is none: the next
// attempt tells.
func (p *people) act(ctx context.Context, i int, r *rand.Rand) {
	if i >= len(p.slots) {
		return
	}

	ctx, cancel := context.WithTimeout(ctx, patience)
	defer cancel()

	s := p.slots[i]
	p.revision[i]++
	obj := s.object(p.revision[i])

	var err error

	switch chance := r.IntN(100); {
	case !p.full[i]:
		err = p.kube.Create(ctx, obj)
		p.full[i] = err == nil || apierrors.IsAlreadyExists(err)
	case chance < 6:
		err = p.replace(ctx, obj)
		p.bare[i] = p.bare[i] || err == nil
		p.full[i] = !resource.IsNotFound(err)
	case chance < 75:
		err = p.kube.Patch(ctx, obj, client.RawPatch(types.MergePatchType, []byte(s.change(p.revision[i]))))
		p.full[i] = !resource.IsNotFound(err)
	default:
		err = p.remove(ctx, i, obj)
		p.full[i] = err != nil && !resource.IsNotFound(err)
	}

	if err == nil {
		p.done.Add(1)
	}
}

// replace puts the manifest in the place of an object, as kubectl replace does: the
// annotations and finalizers of the provider are not in it. Nobody does so to an object that
// is being deleted.
func (p *people) replace(ctx context.Context, manifest client.Object) error {
	now := manifest.DeepCopyObject().(client.Object)
	if err := p.kube.Get(ctx, client.ObjectKeyFromObject(manifest), now); err != nil {
		return err
	}

	if now.GetDeletionTimestamp() != nil {
		return errors.New("it is being deleted")
	}

	manifest.SetResourceVersion(now.GetResourceVersion())

	err := p.kube.Update(ctx, manifest)
	if err == nil {
		p.replaced.Add(1)
	}

	return err
}

// remove deletes an object, unless it was just replaced: the API server removes an object
// without a finalizer at once, and asks nobody.
func (p *people) remove(ctx context.Context, i int, obj client.Object) error {
	if !p.bare[i] {
		return p.kube.Delete(ctx, obj)
	}

	now := obj.DeepCopyObject().(client.Object)
	if err := p.kube.Get(ctx, client.ObjectKeyFromObject(obj), now); err != nil {
		return err
	}

	if len(now.GetFinalizers()) == 0 {
		return errors.New("it was replaced, and nobody has claimed it again")
	}

	p.bare[i] = false

	return p.kube.Delete(ctx, obj)
}

// finish creates the streams that consumers wait for.
func (p *people) finish(ctx context.Context) error {
	for i, s := range p.slots {
		if !s.isDock(p.slots) {
			continue
		}

		if err := p.insist(ctx, func(ctx context.Context) error {
			p.revision[i]++

			obj := s.object(p.revision[i])
			if err := p.kube.Get(ctx, client.ObjectKeyFromObject(obj), obj); err == nil && obj.GetDeletionTimestamp() != nil {
				return errors.Errorf("%s %s is still there: its deletion does not end", s.kind, s.name)
			}

			err := p.kube.Create(ctx, s.object(p.revision[i]))
			if apierrors.IsAlreadyExists(err) {
				err = nil
			}

			p.full[i] = err == nil

			return err
		}); err != nil {
			return err
		}
	}

	return nil
}

// insist does something until it is answered.
func (p *people) insist(ctx context.Context, what func(context.Context) error) error {
	for {
		attempt, cancel := context.WithTimeout(ctx, patience)
		err := what(attempt)

		cancel()

		if err == nil {
			return nil
		}

		if pause(ctx, shortestBreak) != nil {
			return err
		}
	}
}
