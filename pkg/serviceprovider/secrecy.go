package serviceprovider

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moorage-dev/moorage/internal/redact"
	"github.com/moorage-dev/moorage/pkg/serviceprovider/internal/secrecy"
)

// Secrets are what a pass must not tell: what code of the author concealed, and the
// credentials of the clusters.
type secrets struct {
	told   redact.Secrets
	before []secrecy.Connection // that the last pass with access had
	masked *redact.Mask         // made when the first text needs it
}

// Mask returns what takes the secrets of the pass out of a text. It is for the end of a pass:
// what becomes known later is not masked.
func (p *pass[T, C]) mask() *redact.Mask {
	if p.secrets.masked == nil {
		connections := append(p.r.shared(), p.secrets.before...)
		if p.known != nil {
			connections = append(connections, p.known.connections...)
		}
		p.secrets.masked = p.secrets.told.Mask(secrecy.OfConnections(connections...)...)
	}

	return p.secrets.masked
}

// Shared returns the connections that all objects share.
func (r *APIReconciler[T, C]) shared() []secrecy.Connection {
	return []secrecy.Connection{secrecy.From(r.onboarding), secrecy.From(r.platform)}
}

// Redact returns an error that can be shown to anybody, for what happens outside of a pass.
func (r *APIReconciler[T, C]) redact(err error) error {
	return redact.NewMask(secrecy.OfConnections(r.shared()...)...).Error(err)
}

// Keep remembers the connections that the domain is given: their credentials may be in an
// error of this pass, or of a later one that has no access, and those of the last pass in one
// of this pass.
func (p *pass[T, C]) keep(all map[string]Access) {
	p.secrets.before, p.known.connections = p.known.connections, nil
	for _, id := range p.r.clusterIDs {
		p.known.connections = append(p.known.connections, secrecy.From(all[id].Cluster))
	}
}

// Redacted returns a text that can be shown to anybody.
func (p *pass[T, C]) redacted(text string) string {
	if text == "" {
		return ""
	}

	return p.mask().String(text)
}

// Conceal takes secrets out of the messages of conditions that are new, whoever set them.
func (p *pass[T, C]) conceal() {
	read, mine := p.storedConditions(), *p.obj.GetConditions()
	for i := range mine {
		told := slices.ContainsFunc(read, func(c metav1.Condition) bool { return c.Type == mine[i].Type && c.Message == mine[i].Message })
		if !told {
			mine[i].Message = p.redacted(mine[i].Message)
		}
	}
}
