package managed

import (
	"context"
	"fmt"
	"maps"
	"strings"
	"unicode/utf8"

	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/telemetry"
	"github.com/moorage-dev/moorage/pkg/resource"
)

// UnstorableNameError says that an external name cannot be stored as it is, and was not sent.
type unstorableNameError struct{ name, why string }

func (e *unstorableNameError) Error() string {
	return fmt.Sprintf("the client answered with the external name %.128q, which %s: correct the provider's client; "+
		"until the name is stored, nothing is created, and nothing is called by another name", e.name, e.why)
}

// checkName says whether the external name among changes of annotations can be stored. JSON makes another
// name of what is no UTF-8, and the API server refuses annotations that are too long. A pass whose name
// cannot be stored goes on with what is.
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

// sizeWith returns how many bytes annotations have with our own changes. Those of a client go without
// if they do not fit.
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

// instead says what was stored instead of an external name.
func instead(key, sent, stored string) string {
	if key != meta.AnnotationKeyExternalName || stored == "" {
		return ""
	}

	return fmt.Sprintf(" (%.128q is stored instead of %.128q)", stored, sent)
}

// altered says whether an object bears the external name that the API server stored instead of ours, and
// no other was chosen since.
func (p *object) altered(mg resource.Managed) bool {
	return p.state.Altered != "" && p.state.Altered == meta.GetExternalName(mg)
}

// misnamed keeps in mind what was sent, if the API server has stored another external name, and takes
// back what was: a process that does not know the name does not act by the other then. Before are the
// annotations before the write.
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

// undone says whether a change is taken back along with the external name. That a creation came to nothing
// stays, and so does the result of one that was recorded before.
func undone(key string, sent map[string]any) bool {
	_, ours := sent[key]
	_, recorded := sent[meta.AnnotationKeyExternalCreateSucceeded]

	return ours && (key == meta.AnnotationKeyExternalName ||
		recorded && !isFailed(sent[meta.AnnotationKeyCreateAttempt]))
}

// unnamed returns annotations without an external name that was stored instead of another, and without the
// result of the attempt that it would belong to.
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
