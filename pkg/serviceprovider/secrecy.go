package serviceprovider

import (
	"slices"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/rest"

	"github.com/moorage-dev/moorage/internal/redact"
	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/serviceprovider/internal/secrecy"
)

// Secrets are what a pass must not tell: what code of the author concealed, and the
// credentials of the clusters.
type secrets struct {
	told   redact.Secrets
	before []*rest.Config // of the connections that the last pass with access had
	masked *redact.Mask   // made when the first text needs it
}

// Mask returns what takes the secrets of the pass out of a text. It is for the end of a pass:
// what becomes known later is not masked.
func (p *pass[T, C]) mask() *redact.Mask {
	if p.secrets.masked == nil {
		configs := append(p.r.configsOfAll(), p.secrets.before...)
		if p.known != nil {
			configs = append(configs, p.known.connections...)
		}
		p.secrets.masked = p.secrets.told.Mask(secrecy.Of(configs...)...)
	}

	return p.secrets.masked
}

// ConfigsOfAll returns the configurations of the clusters that all objects share.
func (r *APIReconciler[T, C]) configsOfAll() []*rest.Config {
	var configs []*rest.Config
	for _, c := range []*clusters.Cluster{r.onboarding, r.platform} {
		if c != nil {
			configs = append(configs, c.RESTConfig())
		}
	}

	return configs
}

// Redact returns an error that can be shown to anybody, for what happens outside of a pass.
func (r *APIReconciler[T, C]) redact(err error) error {
	return redact.NewMask(secrecy.Of(r.configsOfAll()...)...).Error(err)
}

// Keep remembers the connections that the domain is given: their credentials may be in an
// error of this pass, or of a later one that has no access, and those of the last pass in one
// of this pass.
func (p *pass[T, C]) keep(all map[string]Access) {
	p.secrets.before, p.known.connections = p.known.connections, nil
	for _, id := range p.r.clusterIDs {
		if config := all[id].Cluster.RESTConfig(); config != nil {
			p.known.connections = append(p.known.connections, config)
		}
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
	read, mine := p.spoken(), *p.obj.GetConditions()
	for i := range mine {
		told := slices.ContainsFunc(read, func(c metav1.Condition) bool { return c.Type == mine[i].Type && c.Message == mine[i].Message })
		if !told {
			mine[i].Message = p.redacted(mine[i].Message)
		}
	}
}
