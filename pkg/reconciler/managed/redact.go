package managed

import (
	"bytes"
	"maps"
	"slices"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/redact"
	"github.com/moorage-dev/moorage/pkg/meta"
)

// How many connection details are remembered, unless one observation tells more. An external system
// that tells them under other keys each time does not fill the memory.
const detailsRemembered = 64

// hideDetails keeps the connection details of an observation out of what this pass tells from here on, and later ones.
func (p *journal) hideDetails(o ExternalObservation) {
	if len(o.ConnectionDetails) > 0 {
		p.observedDetails = append(p.observedDetails, o.ConnectionDetails)
		p.state.rememberDetails(o.ConnectionDetails, meta.GetExternalName(p.mg))
	}
}

// rememberDetails keeps connection details, so that later passes of this process mask
// them, too: a call may fail with them before the next observation tells them. A value
// that has changed is kept until the next change: where credentials are rotated, the
// former ones may still be accepted. What is shown by the object is no secret. Details
// that are known already take nothing.
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

// rememberedDetails returns the values that are kept, by themselves.
func (t *coldState) rememberedDetails() map[string][]byte {
	values := map[string][]byte{}
	for _, all := range t.details {
		for _, value := range all {
			values[string(value)] = value
		}
	}

	return values
}

// mask returns what takes the secrets of this pass out of a text: those that
// were told to package external, and the connection details that this pass and those
// before it have observed, apart from what the object showed to everybody before.
func (p *journal) mask() *redact.Mask {
	if known := p.secrets.Len() + len(p.observedDetails); p.cachedMask == nil || p.cachedMaskInputs != known {
		p.cachedMask, p.cachedMaskInputs = p.newMask(), known
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
	if read, err := image(p.read); err == nil {
		delete(read, "status")
		withoutTexts(hidden, read)
	}

	return p.secrets.Mask(slices.Collect(maps.Values(hidden))...)
}

// withoutTexts takes the texts in a JSON value from what is hidden.
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

// redact returns an error that can be shown to anybody.
func (p *journal) redact(err error) error {
	if err == nil {
		return nil
	}

	return p.mask().Error(err)
}

// concealIn takes the secrets out of the messages of conditions that were set in
// this pass, whoever set them. The record of a creation in the condition Created stays
// whole: the object shows it in its annotations, and it is read again.
func (p *journal) concealIn(read, mine []commonv1.Condition) {
	record := creation(p.mg, p.mg)
	if record.Mark == "" { // its result is not known
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
