package managed

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"unicode/utf8"

	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/attempt"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/telemetry"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// An unstorableNameError means that an external name cannot be stored unchanged, and was not sent.
type unstorableNameError struct{ name, why string }

func (e *unstorableNameError) Error() string {
	return fmt.Sprintf("the client answered with the external name %.128q, which %s: correct the provider's client; "+
		"until the name is stored, nothing is created, and nothing is called by another name", e.name, e.why)
}

// checkName returns an error if the external name among changes of annotations cannot be stored. JSON changes a
// name that is not UTF-8, and the API server rejects annotations that are too long. A pass whose name cannot be
// stored continues with the other changes.
func (p *object) checkName(changes map[string]any) error {
	name, named := changes[meta.AnnotationKeyExternalName].(string)
	if !named || name == "" {
		return nil
	}
	why := ""
	if size := sizeWith(p.newest.GetAnnotations(), changes); size > annotationsLimit {
		why = fmt.Sprintf("does not fit into the annotations of the object (they would have %d bytes, and the API server "+
			"stores %d at most)", size, annotationsLimit)
	}
	if !utf8.ValidString(name) {
		why = "is no valid UTF-8"
	}
	if why == "" {
		return nil
	}
	p.mg.SetAnnotations(maps.Clone(p.newest.GetAnnotations()))

	return &unstorableNameError{name, why}
}

// sizeWith returns the size of annotations in bytes with our own changes. Changes by a client are dropped if they
// do not fit.
func sizeWith(annotations map[string]string, changes map[string]any) (size int) {
	for key, value := range annotations {
		if text, changed := changes[key]; changed && ownedAnnotations[key] {
			value, _ = text.(string)
		}
		size += len(key) + len(value)
	}
	for key, text := range texts(changes) {
		if _, is := annotations[key]; !is && ownedAnnotations[key] {
			size += len(key) + len(text)
		}
	}

	return size
}

// instead returns a text that says which external name the API server has stored instead of the sent one.
func instead(key, sent, stored string) string {
	if key != meta.AnnotationKeyExternalName || stored == "" {
		return ""
	}

	return fmt.Sprintf(" (%.128q is stored instead of %.128q)", stored, sent)
}

// altered reports whether an object has the external name that the API server has stored instead of ours, and no
// other name was set since.
func (p *object) altered(mg resource.Managed) bool {
	return p.state.Altered != "" && p.state.Altered == meta.GetExternalName(mg)
}

// misnamed handles a write after which the API server has stored another external name than the sent one. It
// remembers the sent name and reverts the write, because a process that does not know the sent name must not use the
// other one. The argument before has the annotations before the write.
func (p *object) misnamed(ctx context.Context, before map[string]string, sent map[string]any) {
	name, _ := sent[meta.AnnotationKeyExternalName].(string)
	stored := meta.GetExternalName(p.newest)
	if p.r.named || name == "" || stored == "" || stored == name {
		return
	}
	p.state.Unwritten = texts(sent)
	if mark := p.newest.GetAnnotations()[meta.AnnotationKeyCreateAttempt]; mark != "" {
		p.state.Unwritten[meta.AnnotationKeyCreateAttempt] = mark
	}
	if was := before[meta.AnnotationKeyExternalName]; was != "" && (was == stored || was == p.state.Altered) {
		before = unnamed(before)
	}
	undo := difference(p.newest.GetAnnotations(), before)
	maps.DeleteFunc(undo, func(key string, _ any) bool { return !undone(key, sent) })
	p.state.recordWrite(map[string]any{meta.AnnotationKeyExternalName: stored})
	p.state.recordWrite(undo)
	body := map[string]any{"metadata": p.precondition(map[string]any{"annotations": undo})}
	if err := p.patch(ctx, telemetry.Result, clone(p.mg), body); err != nil {
		p.log().Debug("Cannot take back an external name that was changed when it was stored", "error", p.redact(err))
	}
	p.state.Altered = ""
	if now := meta.GetExternalName(p.newest); now != before[meta.AnnotationKeyExternalName] {
		p.state.Altered = now
	}
}

// unnamed returns annotations without an external name that was stored instead of another, and without the result of
// its attempt.
func unnamed(annotations map[string]string) map[string]string {
	out := maps.Clone(annotations)
	delete(out, meta.AnnotationKeyExternalName)
	if id, _, ended := strings.Cut(out[meta.AnnotationKeyCreateAttempt], "/"); ended &&
		out[meta.AnnotationKeyExternalCreatePending] != "" {
		delete(out, meta.AnnotationKeyExternalCreateSucceeded)
		out[meta.AnnotationKeyCreateAttempt] = id
	}

	return out
}

// undone reports whether a change is reverted along with the external name. A failed creation stays recorded, and
// so does the result of one that was recorded before.
func undone(key string, sent map[string]any) bool {
	_, ours := sent[key]
	_, recorded := sent[meta.AnnotationKeyExternalCreateSucceeded]

	return ours && (key == meta.AnnotationKeyExternalName ||
		recorded && !attempt.IsFailed(sent[meta.AnnotationKeyCreateAttempt]))
}
