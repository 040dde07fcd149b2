package managed

import (
	"bytes"
	"maps"
	"slices"

	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/objectjson"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/redact"
	"github.com/moorage-dev/moorage/pkg/meta"
	"github.com/moorage-dev/moorage/pkg/reconciler/managed/internal/attempt"
)

// The largest number of connection details that are remembered, unless one observation has more. An external system
// that returns other keys each time does not fill the memory.
const detailsRemembered = 64

// hideDetails masks the connection details of an observation in all later output of this pass and of later passes.
func (p *journal) hideDetails(o ExternalObservation) {
	if len(o.ConnectionDetails) > 0 {
		p.observedDetails = append(p.observedDetails, o.ConnectionDetails)
		p.state.rememberDetails(o.ConnectionDetails, meta.GetExternalName(p.mg))
	}
}

// rememberDetails remembers connection details, so that later passes of this process mask them. An error may contain
// them before the next observation. A replaced value is kept until the next change, because the former credentials
// may still be accepted after a rotation. A value that the object shows is not secret. Details that are already known
// take no memory.
func (t *coldState) rememberDetails(details ConnectionDetails, shown string) {
	for key, value := range details {
		last := t.details[key][0]
		if len(value) == 0 || string(value) == shown || bytes.Equal(last, value) {
			continue
		}
		if t.details == nil {
			t.details = map[string]rotated{}
		}
		t.details[key] = rotated{slices.Clone(value), last}
	}
	if len(t.details) > detailsRemembered {
		maps.DeleteFunc(t.details, func(key string, _ rotated) bool { return details[key] == nil })
	}
}

// redact returns an error without secrets.
func (p *journal) redact(err error) error {
	if err == nil {
		return nil
	}

	return p.mask().Error(err)
}

// concealIn redacts the messages of all conditions that were set in this pass. It does not redact the record of a
// creation in the condition Created, because the annotations of the object also show it, and later passes read it.
func (p *journal) concealIn(read, mine []commonv1.Condition) {
	record := attempt.Creation(p.mg, p.mg)
	if record.Mark == "" { // its result is unknown
		record.Mark = p.mg.GetAnnotations()[meta.AnnotationKeyCreateAttempt]
	}
	for i, c := range mine {
		if c.Type == commonv1.TypeCreated && record.Is(c.Message) {
			continue
		}
		if !slices.ContainsFunc(read, func(r commonv1.Condition) bool {
			return r.Type == c.Type &&
				r.Message == c.Message
		}) {
			mine[i].Message = p.mask().String(c.Message)
		}
	}
}

// mask returns the mask for the secrets of this pass. These are the secrets that package external has registered, and
// the connection details that this and earlier passes have observed. Values that the object showed before are not
// masked.
func (p *journal) mask() *redact.Mask {
	if known := p.secrets.Len() + len(p.observedDetails); p.cachedMask == nil || p.cachedMaskInputs != known {
		p.cachedMask, p.cachedMaskInputs = p.newMask().WithCache(&p.r.objects.redacted), known
	}

	return p.cachedMask
}

func (p *journal) newMask() *redact.Mask {
	if len(p.observedDetails) == 0 && p.state.details == nil {
		return p.secrets.Mask()
	}
	hidden := p.state.rememberedDetails()
	for _, details := range p.observedDetails {
		for _, value := range details {
			hidden[string(value)] = value
		}
	}
	if read, err := objectjson.Of(p.read); err == nil {
		delete(read, "status")
		withoutTexts(hidden, read)
	}

	return p.secrets.Mask(slices.Collect(maps.Values(hidden))...)
}

// rememberedDetails returns the remembered values by generated keys.
func (t *coldState) rememberedDetails() map[string][]byte {
	values := map[string][]byte{}
	for _, all := range t.details {
		for _, value := range all {
			values[string(value)] = value
		}
	}

	return values
}

// withoutTexts removes the texts in a JSON value from the hidden values.
func withoutTexts(hidden map[string][]byte, shown any) {
	switch v := shown.(type) {
	case string:
		delete(hidden, v)
	case []any:
		for _, item := range v {
			withoutTexts(hidden, item)
		}
	case map[string]any:
		for _, item := range v {
			withoutTexts(hidden, item)
		}
	}
}
