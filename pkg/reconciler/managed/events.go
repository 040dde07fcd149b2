package managed

import (
	"maps"
	"slices"

	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
)

// Reasons of the events a reconciler emits. An event is emitted when its reason becomes true, and not again while it
// stays true.
const (
	reasonCannotConnect       event.Reason = "CannotConnectToProvider"
	reasonCannotDisconnect    event.Reason = "CannotDisconnectFromProvider"
	reasonCannotInitialize    event.Reason = "CannotInitializeManagedResource"
	reasonCannotResolve       event.Reason = "CannotResolveResourceReferences"
	reasonCannotPublish       event.Reason = "CannotPublishConnectionDetails"
	reasonCannotObserve       event.Reason = "CannotObserveExternalResource"
	reasonCannotCreate        event.Reason = "CannotCreateExternalResource"
	reasonCannotDelete        event.Reason = "CannotDeleteExternalResource"
	reasonCannotUpdate        event.Reason = "CannotUpdateExternalResource"
	reasonCannotUpdateManaged event.Reason = "CannotUpdateManagedResource"

	reasonCreated event.Reason = "CreatedExternalResource"
	reasonUpdated event.Reason = "UpdatedExternalResource"
	reasonDeleted event.Reason = "DeletedExternalResource"
	reasonPending event.Reason = "PendingExternalResource"
	reasonPaused  event.Reason = "ReconciliationPaused"

	reasonWaitingForReference event.Reason = "WaitingForReference"

	reasonRequestHandled event.Reason = "ReconcileRequestHandled"
	reasonOldSecret      event.Reason = "ConnectionSecretLeft"
	reasonDetailsLost    event.Reason = "ConnectionDetailsLost"
	reasonLateReverted   event.Reason = "LateInitializationReverted"

	reasonNotOwned             event.Reason = "ExternalResourceNotOwned"
	reasonRecreated            event.Reason = "ExternalResourceRecreated"
	reasonMissing              event.Reason = "ExternalResourceMissing"
	reasonKeepsChanging        event.Reason = "ExternalResourceKeepsChanging"
	reasonKeepsExisting        event.Reason = "ExternalResourceKeepsExisting"
	reasonRestored             event.Reason = "ExternalResourceRestored"
	reasonRecordTaken          event.Reason = "CreationRecordTaken"
	reasonLeft                 event.Reason = "ExternalResourceLeft"
	reasonAbandoned            event.Reason = "CreationAttemptAbandoned"
	reasonRetained             event.Reason = "ExternalResourceSpared"
	reasonInvalidPolicy        event.Reason = "InvalidManagementPolicy"
	reasonInvalidPollInterval  event.Reason = "InvalidPollInterval"
	reasonWaitingForFinalizers event.Reason = "WaitingForFinalizers"
)

// isNewEvent reports whether the conditions did not have this outcome before, for any generation.
func (p *journal) isNewEvent(o outcome) bool {
	for _, t := range newsTypes {
		says := p.mg.GetCondition(t)
		says.ObservedGeneration = 0 // which is equal to any
		if !p.read.GetCondition(t).Equal(says) {
			return p.isNewMessage(string(o.event.Reason), o.event.Message)
		}
	}

	return false
}

// isNewMessage reports whether a message differs from the last message with its reason.
func (p *journal) isNewMessage(reason, message string) bool {
	last, warned := p.state.LastWarnings[reason]
	if warned && (last == message || external.Normalize(last) == external.Normalize(message)) {
		return false
	}
	if p.state.LastWarnings == nil {
		p.state.LastWarnings = map[string]string{}
	}
	p.state.LastWarnings[reason] = message

	return true
}

// forgetWarnings forgets the last warnings, so that they are new again. It keeps the warnings with the given reasons,
// which are not new as long as they are true, even if no status is stored.
func (p *journal) forgetWarnings(but ...string) {
	maps.DeleteFunc(p.state.LastWarnings, func(reason, _ string) bool { return !slices.Contains(but, reason) })
	if len(p.state.LastWarnings) == 0 {
		p.state.LastWarnings = nil
	}
}

// emitEvent emits an event at once. It is for failures after the end of the pass.
func (p *journal) emitEvent(e event.Event) {
	p.recordEvent(e)
	p.emitEvents()
}

// recordEvent keeps an event until the end of the pass.
func (p *journal) recordEvent(e event.Event) { p.events = append(p.events, e) }

func (p *journal) emitEvents() {
	if len(p.events) == 0 {
		return
	}
	record, warn := p.r.recorder, p.r.warningRecorder
	if warn == nil {
		warn = record
	}
	name := meta.GetExternalName(p.mg)
	for _, e := range p.events {
		to := record
		if e.Type == event.TypeWarning {
			to = warn
		}
		if name != "" {
			to = to.WithAnnotations("external-name", name)
		}
		to.Event(p.mg, e)
		p.log().Info("Event", "type", string(e.Type), "reason", string(e.Reason), "message", e.Message)
	}
	p.events = nil
}
