package managed

import (
	"slices"

	commonv1 "github.com/moorage-dev/moorage/apis/common/v1"
	"github.com/moorage-dev/moorage/internal/redact"
)

// Mask returns what takes the secrets of this pass out of a text: those that
// were told to package external, and the connection details, apart from what the
// object showed to everybody before.
func (p *pass) mask() *redact.Mask {
	if known := p.secrets.Len() + len(p.told); p.masked == nil || p.maskedOf != known {
		p.masked, p.maskedOf = p.newMask(), known
	}

	return p.masked
}

func (p *pass) newMask() *redact.Mask {
	if len(p.told) == 0 {
		return p.secrets.Mask()
	}
	shown := map[string]bool{}
	if read, err := image(p.read); err == nil {
		delete(read, "status")
		leaves(read, shown)
	}
	var hidden [][]byte
	for _, details := range p.told {
		for _, value := range details {
			if !shown[string(value)] {
				hidden = append(hidden, value)
			}
		}
	}

	return p.secrets.Mask(hidden...)
}

// Leaves collects the texts in a JSON value.
func leaves(value any, found map[string]bool) {
	switch v := value.(type) {
	case string:
		found[v] = true
	case []any:
		for _, item := range v {
			leaves(item, found)
		}
	case map[string]any:
		for _, item := range v {
			leaves(item, found)
		}
	}
}

// Redact returns an error that can be shown to anybody.
func (p *pass) redact(err error) error {
	if err == nil {
		return nil
	}

	return p.mask().Error(err)
}

// ConcealIn takes the secrets out of the messages of conditions that were set in
// this pass, whoever set them.
func (p *pass) concealIn(read, mine []commonv1.Condition) {
	for i, c := range mine {
		if !slices.ContainsFunc(read, func(r commonv1.Condition) bool { return r.Type == c.Type && r.Message == c.Message }) {
			mine[i].Message = p.mask().String(c.Message)
		}
	}
}
