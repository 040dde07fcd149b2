package managed

import (
	"slices"

	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// maxRequest is the maximum length of a request that the event of its answer has as an annotation, in bytes. Requests
// are usually times.
const maxRequest = 253

const textRequestHandled = "Handled the request for a reconcile"

// noteRequest notes the request for a reconcile that this pass handles.
//
// A status without a field for the last handled request shows nothing, so the memory of the process counts. The first
// pass of a process cannot know whether an earlier process has answered the request. It takes the request for answered.
// Otherwise each restart would answer the old requests of all objects again.
func (p *object) noteRequest() {
	p.requested = p.request(p.mg)
	_, stores := p.mg.(resource.ReconcileRequestee)
	switch {
	case p.mg.GetAnnotations()[meta.AnnotationKeyReconcileRequestedAt] == "":
		p.state.Answered = ""
	case !stores && !p.state.Known:
		p.state.Answered, p.requested = p.requested, ""
	}
}

// request returns the request for a reconcile that an object has and no pass has handled yet, or "".
func (p *journal) request(mg resource.Managed) string {
	token := mg.GetAnnotations()[meta.AnnotationKeyReconcileRequestedAt]
	if r, ok := mg.(resource.ReconcileRequestee); ok && r.GetLastHandledReconcileAt() == token {
		return ""
	}
	if p.state.Answered == token {
		return ""
	}

	return token
}

// requestHandled returns the event that answers a request for a reconcile.
func requestHandled(requested string) event.Event {
	e := event.Normal(reasonRequestHandled, textRequestHandled)
	e.Immediate = true
	if len(requested) <= maxRequest {
		e.Annotations = map[string]string{meta.AnnotationKeyReconcileRequestedAt: requested}
	}

	return e
}

// settleRequest notes that the request is handled, so that no later pass answers it. If the status of the pass was not
// written, a later pass handles the request, and settleRequest removes the answer of this pass.
func (p *object) settleRequest(written bool) {
	i := slices.IndexFunc(p.events, func(e event.Event) bool { return e.Reason == reasonRequestHandled })
	switch r, ok := p.newest.(resource.ReconcileRequestee); {
	case i < 0:
	case !written:
		p.events = slices.Delete(p.events, i, i+1)
	case ok && r.GetLastHandledReconcileAt() == p.requested:
		p.state.Answered = ""
	default: // the kind or its CustomResourceDefinition has no field for it
		p.state.Answered = p.requested
	}
}
