package managed

import (
	"context"
	"fmt"
	"io"
	"net"
	"strings"
	"syscall"
	"time"

	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/external"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// The bookkeeping of a creation are three times (pending, succeeded, failed),
// which other runtimes understand, and the attempt, which does not depend on
// clocks: its id while it is under way, "id/succeeded" or "id/failed" after.
const (
	attemptSucceeded = "succeeded"
	attemptFailed    = "failed"
)

// Bookkeeping are the annotations that the reconciler writes itself.
var bookkeeping = map[string]bool{
	meta.AnnotationKeyExternalName:            true,
	meta.AnnotationKeyExternalCreatePending:   true,
	meta.AnnotationKeyExternalCreateSucceeded: true,
	meta.AnnotationKeyExternalCreateFailed:    true,
	meta.AnnotationKeyCreateAttempt:           true,
}

// NewAttempt returns an id that no other attempt for the object has.
func (r *Reconciler) newAttempt() string {
	return fmt.Sprintf("%08x", uint32(r.random()*(1<<32)))
}

// Begin marks that an attempt to create is about to be made. The time is later
// than that of the last result by the second that times are told in: a runtime
// that knows only times must see that this attempt is the later one.
func begin(mg resource.Managed, attempt string, now time.Time) {
	for _, end := range []time.Time{meta.GetExternalCreateSucceeded(mg), meta.GetExternalCreateFailed(mg)} {
		if next := end.Add(time.Second); now.Before(next) {
			now = next
		}
	}
	meta.AddAnnotations(mg, map[string]string{meta.AnnotationKeyCreateAttempt: attempt})
	meta.SetExternalCreatePending(mg, now)
}

// Finish marks what became of the attempt. The time is never before that of the
// beginning, whatever the clock says.
func finish(mg resource.Managed, result string, now time.Time) {
	if pending := meta.GetExternalCreatePending(mg); now.Before(pending) {
		now = pending
	}
	if id, _ := attempt(mg); id != "" {
		meta.AddAnnotations(mg, map[string]string{meta.AnnotationKeyCreateAttempt: id + "/" + result})
	}
	if result == attemptSucceeded {
		meta.SetExternalCreateSucceeded(mg, now)
	} else {
		meta.SetExternalCreateFailed(mg, now)
	}
}

// Attempt returns the id and the result of the last attempt to create.
func attempt(mg resource.Managed) (id, result string) {
	id, result, _ = strings.Cut(mg.GetAnnotations()[meta.AnnotationKeyCreateAttempt], "/")

	return id, result
}

// Unresolved says whether a create was begun whose result is not known. A user
// ends that by removing the pending mark, or by abandoning the attempt.
func unresolved(mg resource.Managed) bool {
	if meta.GetExternalCreatePending(mg).IsZero() {
		return false
	}
	id, result := attempt(mg)
	if id != "" && mg.GetAnnotations()[meta.AnnotationKeyAbandonAttempt] == id {
		return false
	}

	return id != "" && result == "" || meta.ExternalCreateIncomplete(mg)
}

// Created returns what identifies the creation whose result the object stands
// for, or nothing if the last attempt did not succeed.
func created(mg resource.Managed) string {
	id, result := attempt(mg)
	if id != "" {
		if result != attemptSucceeded {
			return ""
		}

		return mg.GetAnnotations()[meta.AnnotationKeyCreateAttempt]
	}
	succeeded := meta.GetExternalCreateSucceeded(mg)
	if succeeded.IsZero() || succeeded.Before(meta.GetExternalCreateFailed(mg)) {
		return ""
	}

	return mg.GetAnnotations()[meta.AnnotationKeyExternalCreateSucceeded]
}

// Creation returns what identifies the creation or adoption that mg is marked
// with, and the name that named has.
func creation(mg, named resource.Managed) string {
	return fmt.Sprintf("%s%q", creationPrefix(mg), meta.GetExternalName(named))
}

func creationPrefix(mg resource.Managed) string { return created(mg) + " of " }

// RecordResult stores what Create did to the annotations and how it ended. With
// a name of our own choice the result need not be marked: a repeated Create is
// harmless. It goes on when ctx is cancelled.
func (p *pass) recordResult(ctx context.Context, before map[string]string, err error) error {
	if !p.r.named {
		switch {
		case err == nil:
			finish(p.mg, attemptSucceeded, p.now())
		case surelyFailed(err):
			finish(p.mg, attemptFailed, p.now())
		}
	}
	ctx, cancel := context.WithTimeout(context.WithoutCancel(ctx), resultTimeout)
	defer cancel()
	changes := difference(before, p.mg.GetAnnotations())
	switch {
	case len(changes) == 0:
		return nil
	case p.r.critical != nil:
		p.memo.writes(changes)

		return p.recordByAuthor(ctx)
	default:
		return p.patchAnnotations(ctx, changes)
	}
}

// RecordByAuthor lets the author's updater store the annotations. The updater
// may replace the object it is given, so it gets a copy.
func (p *pass) recordByAuthor(ctx context.Context) error {
	answer := clone(p.mg)
	if err := p.r.critical.UpdateCriticalAnnotations(ctx, answer); err != nil {
		return err
	}
	p.knows(answer)

	return nil
}

// SurelyFailed says whether a Create that returned err created nothing as far as
// we may conclude. A call that was cut off may have had its effect, and is not
// repeated. So might one that failed in another way; docs/adr/0004 says why that
// is taken for a failure unless the client knows better.
func surelyFailed(err error) bool {
	if external.IsNotCreated(err) || external.IsAlreadyExists(err) {
		return true
	}
	for _, cut := range []error{
		context.Canceled, context.DeadlineExceeded, io.EOF, io.ErrUnexpectedEOF, net.ErrClosed, syscall.ECONNRESET, syscall.EPIPE,
	} {
		if errors.Is(err, cut) {
			return false
		}
	}
	var timeout net.Error
	var network *net.OpError
	switch {
	case errors.As(err, &network):
		return network.Op == "dial" // without a connection nothing was sent
	case errors.As(err, &timeout):
		return !timeout.Timeout()
	default:
		return true
	}
}
