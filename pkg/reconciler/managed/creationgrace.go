package managed

import (
	"time"

	"github.com/moorage-dev/moorage/internal/objectstate"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/attempt"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/lifecycle"
)

// trackCreation records since when this process knows the creation whose grace period is running.
func (p *clientSession) trackCreation() {
	if mark := p.creationMark(); mark != p.state.Creation {
		p.state.Creation, p.state.Since = mark, p.r.at(p.now())
	}
}

// creationGrace returns the rest of the time in which a created resource may not be visible. For a creation that is
// not tracked yet, the time begins now.
func (p *clientSession) creationGrace() time.Duration {
	mark, since := p.creationMark(), p.r.time(p.state.Since)
	if mark == "" {
		return 0
	}
	if mark != p.state.Creation {
		since = p.now()
	}
	window := p.r.grace
	if p.createClass() != lifecycle.Findable { // there it is looked up
		window += p.recreationDelay()
	}

	return max(window-p.now().Sub(since), 0)
}

// creationMark returns the creation whose grace period is running, or "". Where the provider chooses names there is
// no record of a creation. A deleted object with our finalizer, whose resource was never observed, may then have been
// created just before this process started.
func (p *clientSession) creationMark() string {
	maybeCreated := meta.WasDeleted(p.mg) && !p.observation.ResourceExists && p.hasFinalizer() &&
		p.state.Seen == objectstate.CreationRef{}
	if p.r.named && (p.state.Creation == createdHere || maybeCreated) {
		return createdHere
	}

	return attempt.CreationMark(p.mg)
}
