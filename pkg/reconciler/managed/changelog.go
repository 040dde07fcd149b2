package managed

import (
	"context"
	"time"

	"k8s.io/apimachinery/pkg/runtime/schema"

	"github.com/moorage-dev/moorage/pkg/changelog"
	fielddiff "github.com/moorage-dev/moorage/pkg/difference"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/meta"
)

// The longest time that a pass waits for a sink without a queue.
const sinkTimeout = 10 * time.Second

// WithChangeLog reports every Create, Update and Delete to a sink, with its cause and result, and the object before and
// after the call. The entry of an Update has the differences that the observation found. The default is no sink.
//
// The reconciler calls the sink at the end of the pass, after it has stored all results in the object. It logs an error
// of the sink and ignores it otherwise. A sink may delay the end of a pass that made a change by up to ten seconds. Put
// a changelog.Queue in front of a sink that may block.
func WithChangeLog(s changelog.Sink) ReconcilerOption {
	return func(r *Reconciler) { r.changes = s }
}

// WithProvider sets the name and version of the provider in the entries of the change log. By default the entries
// have neither.
func WithProvider(name, version string) ReconcilerOption {
	return func(r *Reconciler) { r.provider, r.providerVersion = name, version }
}

// recordChange makes a change in the external system and records it, to be sent to the sink at the end of the pass.
func (p *creationRecord) recordChange(ctx context.Context, operation changelog.Operation, attempt string,
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
		Generation: p.generation, Cause: causeOf(p.changeFacts(operation)),
	}
	if operation == changelog.OperationUpdate && p.differences != nil {
		e.Differences = p.differences.fields
	}
	var details changelog.Details
	failure := call(changelog.WithDetails(ctx, &details))
	e.Details = details.Values()
	if failure != nil {
		e.Error = p.redact(failure).Error()
	}
	p.changes = append(p.changes, e)

	return failure
}

// logChanges sends the recorded changes to the sink.
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
		e.Differences, _ = fielddiff.Clean(e.Differences, p.mask()) // some secrets became known after the change
		if err := p.send(ctx, e); err != nil {
			p.log().Info("Cannot record a change", "operation", string(e.Operation), "error", p.redact(err))
		}
	}
}

// send passes an entry to the sink. A panic of the sink is an error.
func (p *journal) send(ctx context.Context, e changelog.Entry) (err error) {
	defer func() {
		if v := recover(); v != nil {
			err = errors.Errorf("the sink panicked: %v", v)
		}
	}()

	return p.r.changes.Record(ctx, e)
}
