package managed

import (
	"context"
	"slices"
	"strings"
	"time"

	"sigs.k8s.io/controller-runtime/pkg/client"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/redact"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/logging"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/lifecycle"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// A pass is one reconcile of one object.
type pass struct {
	r    *Reconciler
	log  logging.Logger
	memo *memo

	mg     resource.Managed // as this pass has it: with what it learned
	read   resource.Managed // as it was read
	newest resource.Managed // as the API server last answered
	policy error            // a policy that is not understood

	generation int64 // what this pass works on

	external    ExternalClient
	disconnects []ExternalDisconnecter
	hangUp      context.CancelFunc // ends the context of Connect
	observation ExternalObservation

	observed  bool  // observation is the state now
	acted     bool  // the one change outside was made
	claimed   bool  // the object was claimed in this pass
	finalized bool  // a finalizer of the author's was added in this pass
	found     bool  // an observation of this pass found what is ours
	taken     error // Create said that the name is taken
	events    []event.Event
}

func (r *Reconciler) begin(_ context.Context, mg resource.Managed) *pass {
	key := client.ObjectKeyFromObject(mg)
	read := clone(mg)
	if r.named && meta.GetExternalName(mg) == "" {
		meta.SetExternalName(mg, mg.GetName())
	}

	return &pass{
		r: r, mg: mg, read: read, newest: read, generation: mg.GetGeneration(), hangUp: func() {},
		memo:   r.memory.of(key, mg.GetUID()),
		policy: meta.ValidatePolicies(mg),
		log:    r.log.WithValues("object", key.String(), "uid", mg.GetUID(), "version", mg.GetResourceVersion()),
	}
}

// MaxActions is the bound that the tests of package lifecycle prove.
const maxActions = 5

// Run decides and acts until an action ends the pass.
func (p *pass) run(ctx context.Context) (outcome, error) {
	for range maxActions {
		action := lifecycle.Decide(p.facts())
		p.log.Debug("Decided", "action", action.String())
		if ending, ok := endings[action]; ok {
			return ending, nil
		}
		if ending, ok := departures[action]; ok {
			return ending, p.letGo(ctx)
		}
		if err := steps[action](p, ctx); err != nil {
			return outcome{}, err
		}
	}

	return outcome{}, errors.New("the pass did not end: this is a defect of the reconciler")
}

// Facts are what is known at this moment, as plain values.
func (p *pass) facts() lifecycle.Facts {
	o := p.observation

	return lifecycle.Facts{
		Paused:  meta.IsPaused(p.mg),
		Invalid: p.policy != nil,
		Deleted: meta.WasDeleted(p.mg),
		Held:    p.held(),
		Awaited: len(p.awaited()) > 0,
		Named:   p.r.named,
		May: lifecycle.Permissions{
			Create: meta.ShouldCreate(p.mg),
			Update: meta.ShouldUpdate(p.mg),
			Delete: meta.ShouldDelete(p.mg),
		},
		Settling:   p.window() > 0,
		NameKnown:  meta.GetExternalName(p.mg) != "",
		Unresolved: unresolved(p.mg),
		Unseen:     p.unseen(),
		DeleteSent: p.deleteSent(),
		Observed:   p.observed,
		Exists:     o.ResourceExists,
		UpToDate:   o.ResourceUpToDate,
		Stranger:   p.stranger(),
		Learned:    !p.claimed && (p.learned() || p.resolves() || p.observed && p.adopts()),
		Resolves:   !p.claimed && p.resolves(),
		Acted:      p.acted,
	}
}

// Held says whether our finalizer keeps the object. Whether a finalizer of the
// author's does cannot be told by its name: he is asked to add it once in each
// pass of a live object, and it is taken to keep a deleted one as long as it was
// not removed and there is a finalizer that may be it. So is a deleted object
// without any finalizer, which only exists in tests.
func (p *pass) held() bool {
	deleted := meta.WasDeleted(p.mg)
	if p.r.finalizer != nil && !deleted {
		return p.finalized
	}
	if p.r.finalizer != nil && slices.ContainsFunc(p.mg.GetFinalizers(), func(name string) bool { return !p.r.ignoredFinalizers[name] }) {
		return !p.memo.letGo
	}

	return meta.FinalizerExists(p.mg, FinalizerName) || deleted && len(p.mg.GetFinalizers()) == 0
}

// Awaited returns the finalizers of others that are to be gone before the
// external resource is deleted.
func (p *pass) awaited() []string {
	if !meta.WasDeleted(p.mg) {
		return nil
	}
	var others []string
	for _, name := range p.mg.GetFinalizers() {
		if name != FinalizerName && !p.r.ignoredFinalizers[name] {
			others = append(others, name)
		}
	}
	ours := meta.FinalizerExists(p.mg, FinalizerName)
	if p.r.finalizer != nil && !ours && len(others) == 1 {
		return nil // it is the author's own, whose name nobody knows
	}

	return others
}

// Window returns how much is left of the time during which a resource that was
// created may not show.
func (p *pass) window() time.Duration {
	mark := created(p.mg)
	if p.r.named && p.memo.creation == createdHere {
		mark = createdHere
	}
	if mark != p.memo.creation {
		p.memo.creation, p.memo.since = mark, p.now()
	}
	if mark == "" {
		return 0
	}

	return max(p.r.grace-p.now().Sub(p.memo.since), 0)
}

// CreatedHere stands for a creation by this process that needs no mark.
const createdHere = "by this process"

// Unseen says whether a creation succeeded and no observation ever found its
// result: neither one of this process, nor an earlier one that said so in the
// status.
func (p *pass) unseen() bool {
	if p.r.named {
		return p.memo.creation == createdHere && p.memo.seen == ""
	}
	this := creation(p.mg, p.mg)

	return created(p.mg) != "" && p.memo.seen != this && p.mg.GetCondition(commonv1.TypeCreated).Message != this
}

// Resolves says whether an observation has shown what became of a create whose
// result was not known.
func (p *pass) resolves() bool {
	return !p.r.named && p.observed && p.observation.ResourceExists && unresolved(p.mg)
}

// DeleteSent says whether a delete was sent so lately that it need not be sent
// again.
func (p *pass) deleteSent() bool {
	sent := p.memo.deleteSent

	return !sent.IsZero() && p.now().Sub(sent) < p.r.pollInterval
}

// Stranger says whether what was found is not ours to change. A mark of creation
// or adoption counts for the name it was made for, which the object tells once it
// was found: another name than the stored one has to be claimed anew.
func (p *pass) stranger() bool {
	told := p.mg.GetCondition(commonv1.TypeCreated).Message
	ofThis := strings.HasPrefix(told, creationPrefix(p.mg))
	claimed := !meta.GetExternalCreateSucceeded(p.mg).IsZero() && (!ofThis || told == creation(p.mg, p.read))

	return lifecycle.Stranger(lifecycle.Owner(p.observation.Owner), claimed, meta.ShouldAdopt(p.mg))
}

// End disconnects. A failure to do so is told, and changes nothing.
func (p *pass) end(ctx context.Context) {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
	defer cancel()
	var failed string
	for _, d := range p.disconnects {
		if err := redact.Error(d.Disconnect(ctx)); err != nil {
			failed = err.Error()
			if p.memo.disconnect != failed {
				p.mention(event.Warning(reasonCannotDisconnect, err))
			}
		}
	}
	p.memo.disconnect = failed
	p.hangUp()
}

func (p *pass) now() time.Time { return p.r.clock.Now() }

func isTrue(mg resource.Managed, t commonv1.ConditionType) bool {
	return mg.GetCondition(t).Status == "True"
}

func clone(mg resource.Managed) resource.Managed {
	// a deep copy has the type of its original
	return mg.DeepCopyObject().(resource.Managed)
}
