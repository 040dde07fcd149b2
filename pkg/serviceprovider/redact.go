package serviceprovider

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"github.com/moorage-dev/moorage/internal/redact"
	"github.com/moorage-dev/moorage/pkg/serviceprovider/internal/secrecy"
)

// secrets are the texts that a pass must not show: values that the Reconciler has concealed, and the credentials of the
// clusters.
type secrets struct {
	concealed  redact.Secrets
	previous   []secrecy.Connection // the connections of the last pass with access
	cachedMask *redact.Mask         // built on first use
}

// mask returns the mask that removes the secrets of the pass from texts. The mask is built once, at the end of the
// pass. It does not contain secrets that are added later.
func (p *pass[T, C]) mask() *redact.Mask {
	if p.secrets.cachedMask == nil {
		connections := append(p.r.sharedConnections(), p.secrets.previous...)
		if p.state != nil {
			connections = append(connections, p.state.connections...)
		}
		p.secrets.cachedMask = p.secrets.concealed.Mask(secrecy.OfConnections(connections...)...)
	}

	return p.secrets.cachedMask
}

// sharedConnections returns the connections that all objects share.
func (r *APIReconciler[T, C]) sharedConnections() []secrecy.Connection {
	return []secrecy.Connection{secrecy.From(r.onboarding), secrecy.From(r.platform)}
}

// redactError removes secrets from an error that occurs outside of a pass.
func (r *APIReconciler[T, C]) redactError(err error) error {
	return redact.NewMask(secrecy.OfConnections(r.sharedConnections()...)...).Error(err)
}

// keepConnections stores the connections that the Reconciler gets. An error of this pass may contain their credentials,
// and so may an error of a later pass without access. An error of this pass may also contain the credentials of the
// previous connections.
func (p *pass[T, C]) keepConnections(all map[string]Access) {
	p.secrets.previous, p.state.connections = p.state.connections, nil
	for _, id := range p.r.clusterIDs {
		p.state.connections = append(p.state.connections, secrecy.From(all[id].Cluster))
	}
}

// redactText removes secrets from a text.
func (p *pass[T, C]) redactText(text string) string {
	if text == "" {
		return ""
	}

	return p.mask().String(text)
}

// redactConditions removes secrets from the messages of all conditions that changed in this pass, including the
// conditions that the Reconciler has set.
func (p *pass[T, C]) redactConditions() {
	read, mine := p.storedConditions(), *p.obj.GetConditions()
	for i := range mine {
		unchanged := slices.ContainsFunc(read, func(c metav1.Condition) bool {
			return c.Type == mine[i].Type &&
				c.Message == mine[i].Message
		})
		if !unchanged {
			mine[i].Message = p.redactText(mine[i].Message)
		}
	}
}
