package managed

import (
	"bytes"
	"context"
	"fmt"
	"maps"
	"sync"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moorage-dev/moorage/internal/connsecret"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/telemetry"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// TellConnectionDetails gives the reconciler connection details that only the response to the create request has,
// such as a generated password or an access key. Call it within Create, with the context of Create. Elsewhere, and
// after Create has returned, it does nothing. It may be called concurrently.
//
// The reconciler publishes the details before it observes the external resource again, also if Create returns an
// error. A second call in the same Create replaces the keys that it names. Other keys of the Secret stay unchanged.
// An empty value does not replace a nonempty value.
//
// If the Secret cannot be written, or the object no longer names a Secret, the reconciler keeps the details in
// memory. Each later pass then tries to publish them before it calls the client. If the process ends first, the
// details are lost. With [WithCreationConnectionDetails] an event reports the loss.
//
// Keys that no Secret can have do not prevent the publication of the other keys. An event names them.
func TellConnectionDetails(ctx context.Context, details ConnectionDetails) {
	if collected, ok := ctx.Value(createdDetailsKey{}).(*createdDetails); ok {
		collected.add(details)
	}
}

// createdDetails has the details that a Create has returned.
type createdDetails struct {
	mu      sync.Mutex
	ended   bool
	details ConnectionDetails
}

// A ConnectionPreparer is a [ConnectionPublisher] that can check, without publishing anything,
// whether details could be published for an object.
type ConnectionPreparer interface {
	// PrepareConnection returns an error if PublishConnection would fail. With [WithCreationConnectionDetails] the
	// reconciler calls it before Create, and does not call Create after an error.
	PrepareConnection(ctx context.Context, mg resource.Managed) error
}

// Values of the annotation for connection details that only the response to Create has.
const (
	detailsPending = "pending"
	detailsLost    = "lost"
)

// detailsSettled is the state, beside detailsLost, of details that the object calls pending although none is left
// to be published.
const detailsSettled = "settled"

// textDetailsLost is the text of the event ConnectionDetailsLost.
const textDetailsLost = "the process that called Create ended before it published the connection details of Create: " +
	"%s may lack details that the external system does not return again; " +
	"set new ones there, or delete the object and create another. Then remove the annotation " +
	meta.AnnotationKeyCreationDetails

// textDetailsUnheld is the text of the event about keys that no Secret can hold.
const textDetailsUnheld = "Create returned connection details that the external system does not return again and " +
	"that cannot be published; " +
	"set new ones there, and have the provider return them under other keys or in smaller parts"

type createdDetailsKey struct{}

func (d *createdDetails) add(details ConnectionDetails) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ended {
		return
	}
	d.details = overlaid(d.details, details)
}

// WithCreationConnectionDetails declares that Create calls [TellConnectionDetails] with details that the external
// system does not return again. The reconciler then checks before Create whether it could publish the details.
//
// If the object names a Secret for connection details, Create is called only if the Secret can be written. An existing
// Secret must also belong to the object. For this check the reconciler reads the Secret, and sends its creation or
// change as a dry run. The check costs these two requests for each creation. If external names are deterministic, it
// costs one more write.
//
// The annotation [meta.AnnotationKeyCreationDetails] of the object is "pending" from before Create until the details
// are published. If the process ends in between, the event ConnectionDetailsLost reports the loss once the external
// resource is found.
//
// With [WithConnectionPublisher] the reconciler does not read a Secret. It calls PrepareConnection of a publisher that
// is a [ConnectionPreparer]. With any other publisher it calls Create without a check.
func WithCreationConnectionDetails() ReconcilerOption {
	return func(r *Reconciler) { r.detailsOfCreation = true }
}

// take returns the details, and ignores later ones.
func (d *createdDetails) take() ConnectionDetails {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ended = true

	return d.details
}

// markDetailsPending checks that the details that Create will return can be published, and marks them as pending in
// the annotations of the object.
func (p *publication) markDetailsPending(ctx context.Context) error {
	if !p.r.detailsOfCreation || !p.publishes() {
		return nil
	}
	if preparer, ok := p.publisher(p.checkFence).(ConnectionPreparer); ok {
		if err := p.instrumentGuarded(ctx, telemetry.Publish,
			func(ctx context.Context) error { return preparer.PrepareConnection(ctx, p.mg) }); err != nil {
			return err
		}
	}
	p.state.Details = ""
	meta.AddAnnotations(p.mg, map[string]string{meta.AnnotationKeyCreationDetails: detailsPending})

	return nil
}

// PrepareConnection returns an error if the Secret cannot be written, or belongs to another owner. A Secret that does
// not exist is no error.
func (s secrets) PrepareConnection(ctx context.Context, mg resource.Managed) error {
	secret, err := s.desired(mg, nil)
	if err != nil {
		return err
	}

	return connsecret.Prepare(ctx, s.client, s.reader, secret, func(current *corev1.Secret) error {
		if !metav1.IsControlledBy(current, mg) && (s.before == "" || ownerOf(current) != s.before) {
			return secretNotOwned(current, secret)
		}

		return nil
	})
}

// deliver publishes the details that a Create has returned, and reports whether none is left to be published.
func (p *publication) deliver(ctx context.Context, details ConnectionDetails, created error) bool {
	if len(details) > 0 {
		p.observedDetails = append(p.observedDetails, details)
		p.state.rememberDetails(details, meta.GetExternalName(p.mg))
		if p.publishes() {
			p.state.Undelivered = overlaid(maps.Clone(p.state.Undelivered), details)
		}
	}
	switch {
	case len(p.state.Undelivered) > 0 && !p.publishes(): // they wait until a Secret is named
	case len(p.state.Undelivered) > 0: // the result of the creation is stored afterwards, so that this has to end
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
		defer cancel()

		return p.publishDelivered(ctx) == nil
	case created == nil || errors.Is(created, errFenced) || p.r.provesNotCreated(p.ownClass(), created):
		p.settleDetails()
	}

	return true
}

// overlaid returns details with the values of others. An empty value of others does not replace a value of details.
func overlaid(details, others ConnectionDetails) ConnectionDetails {
	for key, value := range others {
		if details == nil {
			details = ConnectionDetails{}
		}
		if len(details[key]) == 0 || len(value) > 0 {
			details[key] = bytes.Clone(value)
		}
	}

	return details
}

// deliverAgain publishes details that could not be published directly after Create. The result of the creation is
// stored by then.
func (p *publication) deliverAgain(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), resultTimeout)
	defer cancel()

	return p.storeDelivered(ctx, persistently(ctx, p.publishDelivered))
}

// storePending stores the restored record, and publishes the details that an earlier pass could not publish.
func (p *publication) storePending(ctx context.Context) error {
	if err := p.storeRestored(ctx); err != nil {
		return err
	}

	return p.deliverLate(ctx)
}

// deliverLate publishes the details that an earlier pass could not publish.
func (p *publication) deliverLate(ctx context.Context) error {
	if meta.WasDeleted(p.mg) {
		p.state.Undelivered = nil
	}
	if len(p.state.Undelivered) == 0 || !p.publishes() {
		return nil
	}

	return p.storeDelivered(ctx, p.publishUndelivered(ctx, p.checkFence))
}

// A selectivePublisher is a ConnectionPublisher that publishes nothing for objects that name no destination.
type selectivePublisher interface {
	Publishes(mg resource.Managed) bool
}

// publishes reports whether connection details of the object are published anywhere.
func (p *publication) publishes() bool {
	if meta.WasDeleted(p.mg) {
		return false
	}
	if s, ok := p.r.publisher.(selectivePublisher); ok {
		return s.Publishes(p.mg)
	}

	return p.r.publisher != nil || secretFor(p.mg) != ""
}

func (p *publication) storeDelivered(ctx context.Context, err error) error {
	if err != nil {
		return publishing.failed(err)
	}

	return updatingObject.failed(p.store(ctx, telemetry.Result))
}

// publishDelivered publishes the details that a Create of this pass has returned, also after the process has lost the
// leadership: no other process knows these details.
func (p *publication) publishDelivered(ctx context.Context) error {
	return p.publishUndelivered(ctx, func(context.Context) error { return nil })
}

// publishUndelivered publishes details that a Create has returned. It does not replace details unless fence allows it.
func (p *publication) publishUndelivered(ctx context.Context, fence func(context.Context) error) error {
	var changed bool
	err := p.instrumentGuarded(ctx, telemetry.Publish, func(ctx context.Context) (err error) {
		changed, err = p.publisher(fence).PublishConnection(ctx, p.mg, p.state.Undelivered)

		return err
	})
	var unheld *connsecret.UnheldError
	if err != nil && !errors.As(err, &unheld) {
		return err
	}
	p.r.telemetry.Wrote(telemetry.Secret, changed)
	p.state.Undelivered, p.publishErr = nil, nil
	if unheld != nil {
		p.warnUnstoredDetails(unheld)

		return nil
	}
	p.settleDetails()

	return nil
}

// publisher returns the publisher of the details of the object. It asks fence before it replaces details.
func (p *publication) publisher(fence func(context.Context) error) ConnectionPublisher {
	if p.r.publisher != nil {
		return p.r.publisher
	}

	return secrets{
		client: p.r.client, reader: p.r.cluster.GetAPIReader(), of: p.r.of, secretType: p.r.secretType,
		stamp: p.stampOfKey(), before: p.ownerBefore(), known: p.publishedBefore(),
		fence: fence,
	}
}

// warnUnstoredDetails emits a warning about details that Create returned and no Secret can hold.
func (p *publication) warnUnstoredDetails(unheld error) {
	p.recordEvent(event.Warning(reasonDetailsLost, p.redact(errors.Wrap(unheld, textDetailsUnheld))))
	if p.mg.GetAnnotations()[meta.AnnotationKeyCreationDetails] != "" {
		p.state.Details = detailsLost
		meta.AddAnnotations(p.mg, map[string]string{meta.AnnotationKeyCreationDetails: detailsLost})
	}
}

// settleDetails records that no details of a Create are left to be published. It records that in the object, if the
// object can be written.
func (p *publication) settleDetails() {
	if _, noted := p.mg.GetAnnotations()[meta.AnnotationKeyCreationDetails]; noted {
		p.state.Details = detailsSettled
		meta.RemoveAnnotations(p.mg, meta.AnnotationKeyCreationDetails)
	}
}

// warnLostDetails emits a warning once about details that an earlier process did not publish. The annotation of the
// object may be "pending" although this process has published the details. Such details are not lost.
func (p *publication) warnLostDetails(ctx context.Context) error {
	pending := p.mg.GetAnnotations()[meta.AnnotationKeyCreationDetails] == detailsPending
	if !pending || !p.observation.ResourceExists || len(p.state.Undelivered) > 0 || meta.WasDeleted(p.mg) ||
		p.notOwned() {
		return nil
	}
	switch p.state.Details {
	case detailsSettled:
		meta.RemoveAnnotations(p.mg, meta.AnnotationKeyCreationDetails)
	case "":
		where := "what is published"
		if name := secretFor(p.mg); name != "" {
			where = "Secret " + name
		}
		p.recordEvent(event.Warning(reasonDetailsLost, errors.New(fmt.Sprintf(textDetailsLost, where))))
		p.state.Details = detailsLost

		fallthrough
	default:
		meta.AddAnnotations(p.mg, map[string]string{meta.AnnotationKeyCreationDetails: detailsLost})
	}

	return updatingObject.failed(p.store(ctx, telemetry.Result))
}
