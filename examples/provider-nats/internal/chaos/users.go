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

// workers is how many users work at a time.
const workers = 6

// The pause of a user between two operations, and the time to wait for an answer.
const (
	shortestBreak, longestBreak = 40 * time.Millisecond, 120 * time.Millisecond

	patience = 5 * time.Second
)

// users create, change and delete objects. Their view of the existing objects may be wrong, as with real
// users; the checks ask the API server.
type users struct {
	kube    client.Client
	slots   []slot
	workers []*rand.Rand

	full     []bool // by slot, in the view of its user
	bare     []bool // was replaced, and has not been seen with a finalizer since
	revision []int

	done     atomic.Int64 // answered operations
	replaced atomic.Int64 // objects replaced by their manifests
}

func newUsers(kube client.Client, seed uint64, slots []slot) *users {
	p := &users{
		kube: kube, slots: slots, full: make([]bool, len(slots)), bare: make([]bool, len(slots)),
		revision: make([]int, len(slots)),
	}
	for i := range workers {
		p.workers = append(p.workers, rand.New(rand.NewPCG(seed, 1000+uint64(i))))
	}

	return p
}

// work lets all users work until ctx ends. Each slot has one user.
func (p *users) work(ctx context.Context) {
	var all sync.WaitGroup
	defer all.Wait()

	for worker, r := range p.workers {
		all.Go(func() {
			for pause(ctx, shortestBreak+time.Duration(r.Int64N(int64(longestBreak-shortestBreak)))) == nil {
				if i := r.IntN(len(p.slots)); i%workers == worker || len(p.slots) < workers {
					p.act(ctx, i, r)
				} else {
					p.act(ctx, i-i%workers+worker, r)
				}
			}
		})
	}
}

// act runs one operation on a slot. A missing answer changes nothing: the next operation shows the result.
func (p *users) act(ctx context.Context, i int, r *rand.Rand) {
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

// replace replaces an object by its manifest, as kubectl replace does: the annotations and finalizers of
// the provider are not in it. Objects that are being deleted are left alone.
func (p *users) replace(ctx context.Context, manifest client.Object) error {
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

// remove deletes an object, unless it was just replaced: the API server removes an object without a
// finalizer at once, without waiting for the provider.
func (p *users) remove(ctx context.Context, i int, obj client.Object) error {
	if !p.bare[i] {
		return p.kube.Delete(ctx, obj)
	}

	now := obj.DeepCopyObject().(client.Object)
	if err := p.kube.Get(ctx, client.ObjectKeyFromObject(obj), now); err != nil {
		return err
	}

	if len(now.GetFinalizers()) == 0 {
		return errors.New("it was replaced, and has no finalizer yet")
	}

	p.bare[i] = false

	return p.kube.Delete(ctx, obj)
}

// finish creates the streams that consumers wait for.
func (p *users) finish(ctx context.Context) error {
	for i, s := range p.slots {
		if !s.isNeeded(p.slots) {
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

// insist repeats an operation until it succeeds.
func (p *users) insist(ctx context.Context, what func(context.Context) error) error {
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
