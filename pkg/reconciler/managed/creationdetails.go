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

// TellConnectionDetails gives the reconciler, from within Create, connection details that
// only the response to the create has: a generated password, an access key. Call it with the
// context of Create. The details are published before the external resource is observed
// again, also if Create returns an error. A second call in the same Create replaces the keys
// that it names; other keys of the Secret stay as they are. An empty value does not replace
// one that is not empty.
//
// While the Secret cannot be written, or the object does not name one any more, the details
// are kept in memory, and each later pass writes them before it calls the client. Keys that no
// Secret can hold do not hold up the others: an event names them. If the process ends first, they are lost; with
// [WithCreationConnectionDetails] an event says so.
//
// Outside of Create, and after Create has returned, it does nothing. It may be called
// concurrently.
func TellConnectionDetails(ctx context.Context, details ConnectionDetails) {
	if told, ok := ctx.Value(createdDetailsKey{}).(*createdDetails); ok {
		told.add(details)
	}
}

// WithCreationConnectionDetails declares that Create calls [TellConnectionDetails] with
// details that the external system does not return again. For an object that names a Secret
// for connection details, Create is then called only if that Secret does not exist or belongs
// to the object, and can be written: the reconciler reads it, and sends its creation or change
// as a dry run.
//
// From before Create until the details are published, the annotation
// [meta.AnnotationKeyCreationDetails] of the object is "pending". If the process ends in
// between, the event ConnectionDetailsLost reports it once the external resource is found.
//
// The cost is a read and a dry run for each creation; where names are deterministic, also one
// write.
//
// With [WithConnectionPublisher] the reconciler does not read a Secret. It asks the publisher
// before Create if that is a [ConnectionPreparer], and otherwise calls Create without a check.
func WithCreationConnectionDetails() ReconcilerOption {
	return func(r *Reconciler) { r.detailsOfCreation = true }
}

// A ConnectionPreparer is a [ConnectionPublisher] that can check, without publishing anything,
// whether details could be published for an object.
type ConnectionPreparer interface {
	// PrepareConnection returns an error if PublishConnection would fail. It is called before Create
	// with [WithCreationConnectionDetails], and its error keeps Create from being called.
	PrepareConnection(ctx context.Context, mg resource.Managed) error
}

// What the annotation of details that only a creation tells says.
const (
	detailsPending = "pending"
	detailsLost    = "lost"
)

// DetailsSettled is what this process knows, beside detailsLost, of details that the object calls pending: nothing of
// them is left to be published.
const detailsSettled = "settled"

// TextDetailsLost is what the event tells.
const textDetailsLost = "the process that called Create ended before it had published what Create told: %s may lack " +
	"connection details that the external system does not tell again; " +
	"set new ones there, or delete the object and create another. Then remove the annotation " +
	meta.AnnotationKeyCreationDetails

// TextDetailsUnheld is what the event tells of keys that no Secret can hold.
const textDetailsUnheld = "Create told connection details that the external system does not tell again and that " +
	"cannot be published; " +
	"set new ones there, and have the provider tell them under other keys or in other parts"

type createdDetailsKey struct{}

// CreatedDetails are what a Create has told.
type createdDetails struct {
	mu      sync.Mutex
	ended   bool
	details ConnectionDetails
}

func (d *createdDetails) add(details ConnectionDetails) {
	d.mu.Lock()
	defer d.mu.Unlock()
	if d.ended {
		return
	}
	d.details = overlaid(d.details, details)
}

// overlaid returns details with others in their place, apart from empty ones: these do not replace a value.
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

// take returns what was told, and lets nothing be added.
func (d *createdDetails) take() ConnectionDetails {
	d.mu.Lock()
	defer d.mu.Unlock()
	d.ended = true

	return d.details
}

// A selectivePublisher is a ConnectionPublisher that publishes nothing for objects that name no place for it.
type selectivePublisher interface {
	Publishes(mg resource.Managed) bool
}

// publishes says whether connection details of the object go anywhere.
func (p *publication) publishes() bool {
	if meta.WasDeleted(p.mg) {
		return false
	}
	if s, ok := p.r.publisher.(selectivePublisher); ok {
		return s.Publishes(p.mg)
	}

	return p.r.publisher != nil || secretFor(p.mg) != ""
}

// publisher returns what publishes the details of the object.
func (p *publication) publisher() ConnectionPublisher {
	if p.r.publisher != nil {
		return p.r.publisher
	}

	return secrets{
		client: p.r.client, reader: p.r.cluster.GetAPIReader(), of: p.r.of, secretType: p.r.secretType,
		stamp: p.stampOfKey(), before: p.ownerBefore(), known: p.publishedBefore(),
	}
}

// markDetailsPending makes sure that what Create is about to tell can be published, and notes on the object that it
// is to be.
func (p *publication) markDetailsPending(ctx context.Context) error {
	if !p.r.detailsOfCreation || !p.publishes() {
		return nil
	}
	if preparer, ok := p.publisher().(ConnectionPreparer); ok {
		if err := p.instrumentGuarded(ctx, telemetry.Publish,
			func(ctx context.Context) error { return preparer.PrepareConnection(ctx, p.mg) }); err != nil {
			return err
		}
	}
	p.state.Details = ""
	meta.AddAnnotations(p.mg, map[string]string{meta.AnnotationKeyCreationDetails: detailsPending})

	return nil
}

// deliver publishes what a Create has told, and says whether nothing of it is left to be published.
func (p *publication) deliver(ctx context.Context, told ConnectionDetails, created error) bool {
	if len(told) > 0 {
		p.observedDetails = append(p.observedDetails, told)
		p.state.rememberDetails(told, meta.GetExternalName(p.mg))
		if p.publishes() {
			p.state.Undelivered = overlaid(maps.Clone(p.state.Undelivered), told)
		}
	}
	switch {
	case len(p.state.Undelivered) > 0 && !p.publishes(): // they wait until a Secret is named
	case len(p.state.Undelivered) > 0: // the result of the creation is stored after it, so that it has to end
		ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), requestTimeout)
		defer cancel()

		return p.publishUndelivered(ctx) == nil
	case created == nil || errors.Is(created, errFenced) || p.r.provesNotCreated(p.ownClass(), created):
		p.settleDetails()
	}

	return true
}

// deliverAgain publishes what could not be published when Create had told it. The result of the creation is stored by
// then.
func (p *publication) deliverAgain(ctx context.Context) error {
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), resultTimeout)
	defer cancel()

	return p.storeDelivered(ctx, persistently(ctx, p.publishUndelivered))
}

// storePending stores what was put back, and what an earlier pass could not publish.
func (p *publication) storePending(ctx context.Context) error {
	if err := p.storeRestored(ctx); err != nil {
		return err
	}

	return p.deliverLate(ctx)
}

// deliverLate publishes what an earlier pass could not publish.
func (p *publication) deliverLate(ctx context.Context) error {
	if meta.WasDeleted(p.mg) {
		p.state.Undelivered = nil
	}
	if len(p.state.Undelivered) == 0 || !p.publishes() {
		return nil
	}

	return p.storeDelivered(ctx, p.publishUndelivered(ctx))
}

func (p *publication) storeDelivered(ctx context.Context, err error) error {
	if err != nil {
		return publishing.failed(err)
	}

	return updatingObject.failed(p.store(ctx, telemetry.Result))
}

func (p *publication) publishUndelivered(ctx context.Context) error {
	var changed bool
	err := p.instrumentGuarded(ctx, telemetry.Publish, func(ctx context.Context) (err error) {
		changed, err = p.publisher().PublishConnection(ctx, p.mg, p.state.Undelivered)

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

// settleDetails notes that nothing is left to be published of what a Create has told: on the object, if that can be
// stored.
func (p *publication) settleDetails() {
	if _, noted := p.mg.GetAnnotations()[meta.AnnotationKeyCreationDetails]; noted {
		p.state.Details = detailsSettled
		meta.RemoveAnnotations(p.mg, meta.AnnotationKeyCreationDetails)
	}
}

// warnUnstoredDetails tells of details that Create told and no Secret can hold.
func (p *publication) warnUnstoredDetails(unheld error) {
	p.recordEvent(event.Warning(reasonDetailsLost, p.redact(errors.Wrap(unheld, textDetailsUnheld))))
	if p.mg.GetAnnotations()[meta.AnnotationKeyCreationDetails] != "" {
		p.state.Details = detailsLost
		meta.AddAnnotations(p.mg, map[string]string{meta.AnnotationKeyCreationDetails: detailsLost})
	}
}

// warnLostDetails tells once of details that a process did not publish that is no more. Of those that this one has
// published the object may say still, or again, that they are pending.
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

// PrepareConnection returns an error unless the Secret does not exist or belongs to the object, and may be written.
func (s secrets) PrepareConnection(ctx context.Context, mg resource.Managed) error {
	secret, err := s.desired(mg, nil)
	if err != nil {
		return err
	}

	return connsecret.Prepare(ctx, s.client, s.reader, secret, func(current *corev1.Secret) error {
		if !metav1.IsControlledBy(current, mg) && (s.before == "" || ownerOf(current) != s.before) {
			return notOwned(current, secret)
		}

		return nil
	})
}
