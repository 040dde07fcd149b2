package clusteraccess

import (
	"context"
	"strings"
	"testing"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/rest"
	"sigs.k8s.io/controller-runtime/pkg/client"

	clustersv1alpha1 "github.com/moorage-dev/moorage/apis/openmcp/clusters/v1alpha1"
	"github.com/moorage-dev/moorage/pkg/clusters"
	"github.com/moorage-dev/moorage/pkg/errors"
)

const canary = "hV7canary9QxL"

var errCanary = errors.New("nobody is let in by " + canary + " here")

// TestCredentialsAreRedacted: what a function of the author says of a connection does not have
// its credentials, those from before a rewrite included; nor does the log.
func TestCredentialsAreRedacted(t *testing.T) {
	let := &rest.Config{Host: "https://east.example", BearerToken: canary}
	for name, fails := range map[string]func(b *board, key clusters.Key) error{
		"Rewrite": func(b *board, _ clusters.Key) error {
			text, err := clusters.New("granted").WithRESTConfig(let).WriteKubeconfig()
			if err != nil {
				b.Fatal(err)
			}
			b.r.rewrite = func(_ *clustersv1alpha1.AccessRequest, c *rest.Config) error {
				c.BearerToken = ""

				return errCanary
			}
			_, err = b.r.parse(&grant{ar: &clustersv1alpha1.AccessRequest{}},
				&corev1.Secret{Data: map[string][]byte{keyKubeconfig: text}})

			return err
		},
		"Connect": func(b *board, key clusters.Key) error {
			b.r.build = func(context.Context, clusters.Key,
				clusters.Input) (*clusters.Cluster, error) {
				return nil, errCanary
			}
			b.r.cache.Set(key, clusters.Input{RESTConfig: let, Revision: "1"})
			_, err := b.r.Access(b.Context(), b.request, b.r.registered[0].ID)

			return err
		},
		"Log": func(b *board, key clusters.Key) error {
			b.r.cache.Set(key, clusters.Input{RESTConfig: let, Revision: "1"})

			return b.r.redact(key, errCanary)
		},
		"Platform": func(b *board, key clusters.Key) error {
			b.r.platform.WithRESTConfig(let)

			return b.r.redact(key, errCanary)
		},
	} {
		t.Run(name, func(t *testing.T) {
			b := newBoard(t)
			err := fails(b, client.ObjectKeyFromObject(b.r.newAccessRequest(b.r.registered[0], b.request)))
			if err == nil || strings.Contains(err.Error(), canary) ||
				!strings.Contains(err.Error(), "nobody is let in by [REDACTED]") || !errors.Is(err, errCanary) {
				t.Errorf("got %v", err)
			}
		})
	}
}
