package managed

import (
	"net/url"
	"slices"
	"strings"

	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/objectjson"

	"github.com/moorage-dev/moorage/internal/mergepatch"
	"github.com/moorage-dev/moorage/pkg/errors"
	"github.com/moorage-dev/moorage/pkg/event"
	"github.com/moorage-dev/moorage/pkg/meta"
)

// lateFields returns the fields of the spec that Observe has set and that have to be stored. It keeps the values that
// the user has set. If a field was set by an earlier Observe and is unset again, another writer has removed it, most
// likely a tool that applies a repository. Such a field stays unset, because the two writers would otherwise never
// stop.
func (p *creationRecord) lateFields() (map[string]any, error) {
	if !p.observation.ResourceLateInitialized || !p.observation.ResourceExists || !mayLateInitialize(p.mg) {
		return nil, nil
	}
	all, err := objectjson.Contents(p.read, p.r.newManaged(), p.mg)
	if err != nil {
		return nil, err
	}
	read, blank, filledIn := all[0], all[1], all[2]
	added := mergepatch.Additions(read, blank, mergepatch.Between(read, filledIn))
	filled := strings.Split(p.mg.GetAnnotations()[meta.AnnotationKeyLateInitialized], " ")
	reverted := slices.DeleteFunc(mergepatch.Leaves(added), func(path mergepatch.Path) bool {
		return !slices.Contains(filled, lateKey(path))
	})
	if len(reverted) > 0 {
		p.warnReverted(reverted)
		added = mergepatch.Without(added, reverted)
	}
	p.rememberFilled(filled, mergepatch.Leaves(added))

	return added, nil
}

// warnReverted reports once which filled fields another writer has unset.
func (p *object) warnReverted(paths []mergepatch.Path) {
	var names []string
	for _, path := range paths {
		names = append(names, path.String())
	}
	slices.Sort(names)
	text := "fields that were filled in from the external resource were removed again, and are left unset: " +
		strings.Join(names, ", ")
	if p.state.LastReverted == text {
		return
	}
	p.state.LastReverted = text
	p.recordEvent(event.Warning(reasonLateReverted, p.redact(errors.New(text))))
}

// rememberFilled records in the object which fields were filled, to be stored along with them.
func (p *object) rememberFilled(filled []string, more []mergepatch.Path) {
	if len(more) == 0 {
		return
	}
	for _, path := range more {
		filled = append(filled, lateKey(path))
	}
	slices.Sort(filled)
	filled = slices.Compact(filled)
	all := strings.TrimSpace(strings.Join(filled, " "))
	meta.AddAnnotations(p.mg, map[string]string{meta.AnnotationKeyLateInitialized: all})
}

// lateKey returns a unique key of a path without spaces.
func lateKey(path mergepatch.Path) string {
	var parts []string
	for _, part := range path {
		parts = append(parts, url.PathEscape(part))
	}

	return strings.Join(parts, "/")
}
