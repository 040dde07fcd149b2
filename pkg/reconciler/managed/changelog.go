package managed

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/moorage-dev/moorage/pkg/changelog"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
)

// How long a pass waits for a sink that is not behind a queue.
const sinkTimeout = 10 * time.Second

// WithChangeLog tells a sink of every Create, Update and Delete that was made,
// succeeded or not, with the object before and after. The default is none. It is
// told when the pass is over and everything of it is stored: a sink never stands
// between a change outside and its record in the object. What it answers changes
// nothing. A sink that may block belongs behind a changelog.Queue, or each pass
// with a change may wait for ten seconds.
func WithChangeLog(s changelog.Sink) ReconcilerOption {
	return func(r *Reconciler) { r.changes = s }
}

// WithProvider sets the name and version of the provider, which the change log
// tells. The default is to tell none.
func WithProvider(name, version string) ReconcilerOption {
	return func(r *Reconciler) { r.provider, r.providerVersion = name, version }
}

// recordChange makes a change and notes it, to be told at the end.
func (p *journal) recordChange(ctx context.Context, operation changelog.Operation, attempt string,
	call func(context.Context) error) error {
	before, err := changelog.Image(p.mg, p.mask())
	if err != nil {
		p.log().Debug("Cannot tell the change log what an object was like", "error", err)
	}
	e := changelog.Entry{
		Time: p.now(), Provider: p.r.provider, ProviderVersion: p.r.providerVersion,
		GroupVersionKind: schema.GroupVersionKind(p.r.of), Namespace: p.mg.GetNamespace(), Name: p.mg.GetName(),
		UID:       p.mg.GetUID(),
		Operation: operation, Attempt: attempt, Before: before,
	}
	var details changelog.Details
	failure := call(changelog.WithDetails(ctx, &details))
	e.Details = details.Told()
	if failure != nil {
		e.Error = p.redact(failure).Error()
	}
	p.changes = append(p.changes, e)

	return failure
}

// logChanges tells the sink what was changed.
func (p *journal) logChanges(ctx context.Context) {
	if len(p.changes) == 0 {
		return
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), sinkTimeout)
	defer cancel()
	after, err := changelog.Image(p.mg, p.mask())
	if err != nil {
		p.log().Debug("Cannot tell the change log what an object is like", "error", err)
	}
	for _, e := range p.changes {
		e.ExternalName, e.After = meta.GetExternalName(p.mg), after
		if err := p.send(ctx, e); err != nil {
			p.log().Info("Cannot record a change", "operation", string(e.Operation), "error", p.redact(err))
		}
	}
}

// send an entry to the sink, which may do what it likes but stop the pass.
func (p *journal) send(ctx context.Context, e changelog.Entry) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = errors.Errorf("the sink panicked: %v", v)
		}
	}()

	return p.r.changes.Record(ctx, e)
}
